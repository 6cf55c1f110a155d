// Addresses, ports and sockets.
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

std::string socket_path(const std::string& name) {
    return testing::TempDir() + "kvalet_" + name + "_" + std::to_string(::getpid()) + ".sock";
}

bool exists(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

std::string error_of(ServerConfig config) {
    const auto server = Server::listen(std::move(config), {});
    return server ? "" : server.error().message;
}

TEST(Listen, APortInUseIsOneClearLine) {
    const auto server = start_server();
    ServerConfig config;
    config.port = server->port();
    EXPECT_EQ(error_of(config),
              "cannot listen on 127.0.0.1:" + std::to_string(config.port) + ": Address already in use");
}

TEST(Listen, AFreedPortCanBeTakenAtOnce) {
    auto server = start_server();
    ServerConfig config;
    config.port = server->port();
    {
        TestClient client(server->port());
        client.send("GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n");
        client.read_to_end();
    }
    server.reset();
    EXPECT_EQ(error_of(config), "");
}

TEST(Listen, ReusePortLetsTwoServersShareIt) {
    ServerConfig config;
    config.reuse_port = true;
    const auto server = start_server({}, config);
    config.port = server->port();
    EXPECT_EQ(error_of(config), "");
}

TEST(Listen, BadAddressesAreErrors) {
    ServerConfig config;
    config.port = 0;
    config.host = "no such host";
    EXPECT_NE(error_of(config).find("no such host"), std::string::npos);
    config.host = " , ";
    EXPECT_EQ(error_of(config), "no host to listen on");
    config.host = "/no/such/directory/a.sock";
    EXPECT_NE(error_of(config).find("/no/such/directory/a.sock"), std::string::npos);
    config.host = "127.0.0.1";
    config.port = 70000;
    EXPECT_NE(error_of(config), "");
}

TEST(Listen, SeveralAddressesShareThePort) {
    ServerConfig config;
    config.host = "127.0.0.1, 127.0.0.2";
    const auto server = start_server({}, std::move(config));
    const std::string port = std::to_string(server->port());
    EXPECT_EQ(server->addresses(), "http://127.0.0.1:" + port + ", http://127.0.0.2:" + port);
    round_trip(*server);
}

TEST(Listen, UnixSockets) {
    const std::string path = socket_path("listen");
    ServerConfig config;
    config.host = path;
    {
        const auto server = start_server({}, config);
        EXPECT_EQ(server->port(), 0);
        EXPECT_EQ(server->addresses(), "unix:" + path);
        TestClient client(path);
        EXPECT_EQ(client.get("/ping").body, "pong");
        EXPECT_NE(error_of(config).find("Address already in use"), std::string::npos);
        EXPECT_EQ(client.get("/ping").body, "pong")
            << "the second server has not taken the first one's socket";
    }
    EXPECT_FALSE(exists(path));
}

TEST(Listen, AStaleUnixSocketIsReplacedAndNothingElse) {
    const std::string path = socket_path("stale");
    const int left_behind = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(left_behind, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(left_behind);
    ServerConfig config;
    config.host = path;
    EXPECT_EQ(error_of(config), "");

    std::ofstream(path) << "a file";
    EXPECT_NE(error_of(config), "");
    EXPECT_TRUE(exists(path));
    ::unlink(path.c_str());
}

TEST(Listen, RequestsSentBeforeTheThreadRunsAreAnswered) {
    ServerConfig config;
    config.port = 0;
    Router router;
    router.add("GET", "/ping",
               [](const std::shared_ptr<Exchange>& exchange) { exchange->send(text_reply("pong")); });
    auto server = Server::listen(std::move(config), std::move(router));
    ASSERT_TRUE(server);
    TestClient client(server.value()->port());
    client.send("GET /ping HTTP/1.1\r\n\r\n");
    server.value()->run_in_thread();
    EXPECT_EQ(client.read_response().body, "pong");
}

TEST(Listen, AServerThatNeverRanCanBeStopped) {
    ServerConfig config;
    config.port = 0;
    auto server = Server::listen(std::move(config), {});
    ASSERT_TRUE(server);
    EXPECT_EQ(server.value()->threads(), 0U);
    server.value()->stop_accepting();
    server.value()->stop();
}

}  // namespace
}  // namespace kvalet::http::test
