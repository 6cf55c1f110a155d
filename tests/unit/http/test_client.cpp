#include "unit/http/test_client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace kvalet::http::test {

namespace {

constexpr int kGuardMs = 30'000;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

TestClient::TestClient(int port, int receive_buffer_bytes) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (descriptor_ < 0) {
        fail("socket");
    }
    if (receive_buffer_bytes > 0) {
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        ::close(descriptor_);
        fail("connect");
    }
}

TestClient::TestClient(const std::string& unix_path) : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, unix_path.c_str(), sizeof(address.sun_path) - 1);
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        ::close(descriptor_);
        fail("connect");
    }
}

TestClient::~TestClient() {
    close();
}

TestClient::TestClient(TestClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

std::string_view TestClient::Response::header(std::string_view name) const {
    for (const Header& h : headers) {
        if (iequals(h.name, name)) {
            return h.value;
        }
    }
    return {};
}

bool TestClient::Response::has(std::string_view name) const {
    for (const Header& h : headers) {
        if (iequals(h.name, name)) {
            return true;
        }
    }
    return false;
}

bool TestClient::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void TestClient::send(std::string_view bytes) {
    if (!try_send(bytes)) {
        fail("send");
    }
}

bool TestClient::receive_more() {
    pollfd wait{descriptor_, POLLIN, 0};
    if (::poll(&wait, 1, kGuardMs) <= 0) {
        throw std::runtime_error("nothing received; so far: " + received_);
    }
    std::array<char, 65536> buffer;
    const auto got = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno != ECONNRESET) {
        fail("recv");
    }
    if (got <= 0) {
        return false;
    }
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

std::string TestClient::read_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = received_.find(mark)) == std::string::npos) {
        if (!receive_more()) {
            throw std::runtime_error("closed before \"" + std::string{mark} + "\"; so far: " + received_);
        }
    }
    std::string taken = received_.substr(0, at + mark.size());
    received_.erase(0, taken.size());
    return taken;
}

std::string TestClient::read_exactly(std::size_t bytes) {
    while (received_.size() < bytes) {
        if (!receive_more()) {
            throw std::runtime_error("closed early; so far: " + received_);
        }
    }
    std::string taken = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return taken;
}

std::string TestClient::read_to_end() {
    while (receive_more()) {
    }
    return std::exchange(received_, {});
}

TestClient::Response TestClient::read_response(bool head_only) {
    Response response;
    response.head = read_until("\r\n\r\n");
    response.status = std::stoi(response.head.substr(9, 3));
    std::size_t line = response.head.find("\r\n") + 2;
    while (line + 2 < response.head.size()) {
        const std::size_t end = response.head.find("\r\n", line);
        const std::size_t colon = response.head.find(": ", line);
        response.headers.push_back(
            {response.head.substr(line, colon - line), response.head.substr(colon + 2, end - colon - 2)});
        line = end + 2;
    }
    if (head_only) {
        return response;
    }
    if (response.header("Transfer-Encoding") == "chunked") {
        while (const std::size_t size = std::stoul(read_until("\r\n"), nullptr, 16)) {
            response.body += read_exactly(size);
            read_exactly(2);
        }
        read_exactly(2);
    } else if (response.has("Content-Length")) {
        response.body = read_exactly(std::stoul(std::string{response.header("Content-Length")}));
    }
    return response;
}

TestClient::Response TestClient::get(std::string_view target) {
    send("GET " + std::string{target} + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return read_response();
}

void TestClient::shutdown_write() {
    ::shutdown(descriptor_, SHUT_WR);
}

void TestClient::close() {
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

void TestClient::reset() {
    const linger now{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
}

}  // namespace kvalet::http::test
