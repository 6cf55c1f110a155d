#include "http/listener.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/tcp.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "http/connection.h"

namespace kvalet::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

namespace {

/// How long accepting rests when there are no descriptors or buffers left: long enough not to spin.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// A client whose machine or network vanished is noticed by the kernel's probes: after a minute of silence,
/// every ten seconds, six times. Nothing else would tell while a parked stream without notices sends nothing.
constexpr int kProbeAfterIdleS = 60;
constexpr int kProbeIntervalS = 10;
constexpr int kProbes = 6;

void set_tcp_option(int descriptor, int name, int value) {
    // A refused option costs comfort, not correctness.
    static_cast<void>(::setsockopt(descriptor, IPPROTO_TCP, name, &value, sizeof(value)));
}

void prepare(tcp::socket& socket, const ServerConfig& config) {
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const int descriptor = socket.native_handle();
    set_tcp_option(descriptor, TCP_KEEPIDLE, kProbeAfterIdleS);
    set_tcp_option(descriptor, TCP_KEEPINTVL, kProbeIntervalS);
    set_tcp_option(descriptor, TCP_KEEPCNT, kProbes);
    set_tcp_option(descriptor, TCP_NOTSENT_LOWAT, static_cast<int>(config.max_unsent_bytes));
}

void prepare(Local::socket& socket, const ServerConfig& config) {
    ErrorCode ignored;
    socket.set_option(asio::socket_base::send_buffer_size(static_cast<int>(config.max_unsent_bytes)),
                      ignored);
}

std::string to_text(const tcp::endpoint& endpoint) {
    const std::string address = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
           std::to_string(endpoint.port());
}

std::string remote_of(const tcp::socket& socket) {
    ErrorCode ec;
    const tcp::endpoint endpoint = socket.remote_endpoint(ec);
    return ec ? "unknown" : to_text(endpoint);
}

std::string remote_of(const Local::socket&) {
    return "unix";
}

int port_of(const tcp::endpoint& endpoint) {
    return endpoint.port();
}
int port_of(const Local::endpoint&) {
    return 0;
}
std::string address_of(const tcp::endpoint& endpoint) {
    return "http://" + to_text(endpoint);
}
std::string address_of(const Local::endpoint& endpoint) {
    return "unix:" + endpoint.path();
}
void forget(const tcp::endpoint&) {}
void forget(const Local::endpoint& endpoint) {
    ::unlink(endpoint.path().c_str());
}

template <class Protocol>
class ProtocolListener final : public Listener {
  public:
    ProtocolListener(Context& context, typename Protocol::acceptor acceptor)
        : context_(context),
          acceptor_(std::move(acceptor)),
          endpoint_(acceptor_.local_endpoint()),
          pause_(context.io) {}
    ~ProtocolListener() override { close(); }

    void start() override {
        acceptor_.async_accept([this](const ErrorCode& ec, typename Protocol::socket socket) {
            if (ec == asio::error::operation_aborted) {
                return;  // `this` may be gone
            }
            if (!acceptor_.is_open()) {
                return;
            }
            if (ec) {
                on_error(ec);
                return;
            }
            take(std::move(socket));
            start();
        });
    }

    void close() override {
        if (!acceptor_.is_open()) {
            return;
        }
        ErrorCode ignored;
        acceptor_.close(ignored);
        pause_.cancel();
        forget(endpoint_);
    }

    [[nodiscard]] int port() const override { return port_of(endpoint_); }
    [[nodiscard]] std::string address() const override { return address_of(endpoint_); }

  private:
    void take(typename Protocol::socket socket) {
        ErrorCode ec;
        socket.non_blocking(true, ec);
        if (ec) {
            return;
        }
        prepare(socket, context_.config);
        std::string remote = remote_of(socket);
        auto connection = std::make_shared<Connection>(context_, Connection::Socket(std::move(socket)),
                                                       std::move(remote), std::is_same_v<Protocol, Local>);
        const bool full = context_.connections.size() >= context_.config.max_connections;
        if (full && !context_.connections.close_longest_idle()) {
            connection->refuse();
            return;
        }
        context_.connections.add(connection);
        connection->start();
    }

    void on_error(const ErrorCode& ec) {
        if (ec == asio::error::connection_aborted) {
            start();
            return;
        }
        // No descriptors left: an idle connection has one to give.
        context_.guard.report("cannot accept a connection on " + address() + ": " + ec.message());
        context_.connections.close_longest_idle();
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](const ErrorCode& cancelled) {
            if (!cancelled) {
                start();
            }
        });
    }

    Context& context_;
    typename Protocol::acceptor acceptor_;
    const typename Protocol::endpoint endpoint_;
    asio::steady_timer pause_;
};

Error cannot_listen(const std::string& address, const ErrorCode& ec) {
    return make_error(ErrorKind::unavailable, "cannot listen on " + address + ": " + ec.message());
}

/// Null and an error code when it cannot be done.
std::unique_ptr<Listener> listen_tcp(Context& context, const tcp::endpoint& endpoint, bool v6_only,
                                     ErrorCode& ec) {
    tcp::acceptor acceptor(context.io);
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) {
        acceptor.set_option(asio::socket_base::reuse_address(true), ec);
    }
    if (!ec && endpoint.address().is_v6()) {
        acceptor.set_option(asio::ip::v6_only(v6_only), ec);
    }
    if (!ec && context.config.reuse_port) {
        const int on = 1;
        if (::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) {
            ec.assign(errno, boost::system::system_category());
        }
    }
    if (!ec) {
        acceptor.bind(endpoint, ec);
    }
    if (!ec) {
        acceptor.listen(asio::socket_base::max_listen_connections, ec);
    }
    return ec ? nullptr : std::make_unique<ProtocolListener<tcp>>(context, std::move(acceptor));
}

/// A socket file nobody listens on is what a killed server left behind. Anything else in its place is not
/// ours to remove.
void remove_stale_socket(Context& context, const Local::endpoint& endpoint) {
    struct stat status {};
    if (::lstat(endpoint.path().c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return;
    }
    Local::socket probe(context.io);
    ErrorCode ec;
    probe.connect(endpoint, ec);
    if (ec == asio::error::connection_refused) {
        forget(endpoint);
    }
}

Result<std::unique_ptr<Listener>> listen_unix(Context& context, const std::string& path) {
    constexpr std::size_t kMaxPathBytes = 107;  // sun_path without its NUL
    if (path.size() > kMaxPathBytes) {
        return make_error(ErrorKind::unavailable,
                          "cannot listen on " + path + ": the path is longer than 107 bytes");
    }
    const Local::endpoint endpoint(path);
    remove_stale_socket(context, endpoint);
    Local::acceptor acceptor(context.io);
    ErrorCode ec;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) {
        acceptor.bind(endpoint, ec);
    }
    if (!ec) {
        acceptor.listen(asio::socket_base::max_listen_connections, ec);
    }
    if (ec) {
        return cannot_listen(path, ec);
    }
    return std::unique_ptr<Listener>(std::make_unique<ProtocolListener<Local>>(context, std::move(acceptor)));
}

std::vector<std::string> split_hosts(const std::string& csv) {
    std::vector<std::string> hosts;
    std::size_t begin = 0;
    while (begin <= csv.size()) {
        const std::size_t end = std::min(csv.find(',', begin), csv.size());
        std::string host = csv.substr(begin, end - begin);
        const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
        host.erase(host.begin(), std::find_if_not(host.begin(), host.end(), is_space));
        host.erase(std::find_if_not(host.rbegin(), host.rend(), is_space).base(), host.end());
        if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
            host = host.substr(1, host.size() - 2);
        }
        if (!host.empty()) {
            hosts.push_back(std::move(host));
        }
        begin = end + 1;
    }
    return hosts;
}

using Listeners = std::vector<std::unique_ptr<Listener>>;

/// A name may stand for several addresses ("localhost": 127.0.0.1 and ::1). One this machine does not have is
/// skipped as long as another one works; any other failure, such as a port in use, is an error.
Status listen_host(Context& context, const std::string& host, bool v6_only, int& port, Listeners& listeners) {
    ErrorCode ec;
    tcp::resolver resolver(context.io);
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, ec);
    if (ec) {
        return make_error(ErrorKind::unavailable, "cannot resolve the host " + host + ": " + ec.message());
    }
    std::set<tcp::endpoint> addresses;
    for (const auto& entry : found) {
        addresses.emplace(entry.endpoint().address(), 0);
    }
    std::optional<Error> absent;
    bool listens = false;
    for (const tcp::endpoint& address : addresses) {
        const tcp::endpoint endpoint(address.address(), static_cast<unsigned short>(port));
        auto listener = listen_tcp(context, endpoint, v6_only, ec);
        if (listener) {
            port = listener->port();
            listeners.push_back(std::move(listener));
            listens = true;
        } else if (ec == boost::system::errc::address_not_available ||
                   ec == boost::system::errc::address_family_not_supported) {
            absent = cannot_listen(to_text(endpoint), ec);
        } else {
            return cannot_listen(to_text(endpoint), ec);
        }
    }
    if (listens) {
        return Unit{};
    }
    return absent ? *absent : make_error(ErrorKind::unavailable, "the host " + host + " has no address");
}

}  // namespace

Result<Listeners> open_listeners(Context& context) {
    const std::vector<std::string> hosts = split_hosts(context.config.host);
    if (hosts.empty()) {
        return make_error(ErrorKind::unavailable, "no host to listen on");
    }
    Listeners listeners;
    int port = context.config.port;
    for (const std::string& host : hosts) {
        if (host.ends_with(".sock")) {
            auto listener = listen_unix(context, host);
            if (!listener) {
                return listener.error();
            }
            listeners.push_back(std::move(listener).value());
        } else if (auto status = listen_host(context, host, hosts.size() > 1, port, listeners); !status) {
            // With one address only, "::" takes IPv4 as well; with several each speaks for itself.
            return status.error();
        }
    }
    return listeners;
}

}  // namespace kvalet::http
