// A thousand of each: silent connections, idle streams, streams that are left at once.
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <sys/resource.h>
#include <thread>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

constexpr std::size_t kMany = 1000;

/// Client and server are one process: each connection takes two descriptors.
void raise_descriptor_limit() {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    ASSERT_GE(files.rlim_cur, 3 * kMany) << "this machine's limit of open files is too low for the test";
}

std::size_t thread_count() {
    std::size_t count = 0;
    DIR* const tasks = ::opendir("/proc/self/task");
    while (const dirent* const entry = ::readdir(tasks)) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    ::closedir(tasks);
    return count;
}

std::size_t resident_kib() {
    std::ifstream statm("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * 4;
}

TEST(Load, AThousandSilentConnectionsHarmNobodyAndAreClosed) {
    raise_descriptor_limit();
    ServerConfig config;
    config.header_timeout = std::chrono::milliseconds(1500);
    const auto server = start_server({}, std::move(config));
    TestClient early(server->port());
    EXPECT_EQ(early.get("/ping").body, "pong");
    std::vector<TestClient> silent;
    for (std::size_t i = 0; i < kMany; ++i) {
        silent.emplace_back(server->port());
    }
    EXPECT_EQ(early.get("/ping").body, "pong");
    round_trip(*server);
    for (TestClient& client : silent) {
        EXPECT_EQ(client.read_to_end(), "");
    }
    EXPECT_EQ(early.get("/ping").body, "pong");
    EXPECT_LE(server->open_connections(), 2U);
}

class ManyStreams : public testing::Test {
  protected:
    void SetUp() override {
        raise_descriptor_limit();
        Router router;
        router.add("GET", "/stream", [this](const std::shared_ptr<Exchange>& exchange) {
            exchange->on_abort([this] { aborted.add(); });
            auto body = std::make_shared<QueueBody>(&destroyed);
            bodies.push_back(body);
            exchanges.push_back(exchange);
            exchange->send(stream_reply(std::move(body)));
        });
        server = start_server(std::move(router));
    }
    void open_all() {
        for (std::size_t i = 0; i < kMany; ++i) {
            clients.emplace_back(server->port());
            clients.back().send("GET /stream HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\n\r\n");
        }
        for (TestClient& client : clients) {
            client.read_until("\r\n\r\n");
        }
        ASSERT_TRUE(comes_to(*server, kMany));
    }

    Counter aborted;
    Counter destroyed;
    std::vector<std::weak_ptr<QueueBody>> bodies;  // filled by the io thread; read once all heads are here
    std::vector<std::shared_ptr<Exchange>> exchanges;  // likewise
    std::unique_ptr<Server> server;
    std::vector<TestClient> clients;
};

TEST_F(ManyStreams, CostOneThreadAndLittleMemory) {
    const std::size_t threads_before = thread_count();
    const std::size_t kib_before = resident_kib();
    open_all();
    const std::size_t kib = resident_kib() - kib_before;
    std::cout << kMany << " idle streams: " << thread_count() - threads_before << " more threads, " << kib
              << " KiB resident in client and server together\n";
    EXPECT_EQ(thread_count(), threads_before);
    for (std::size_t i = 0; i < kMany; ++i) {
        bodies[i].lock()->push("token");
        exchanges[i]->wake();
    }
    for (TestClient& client : clients) {
        EXPECT_EQ(client.read_until("token\r\n"), "5\r\ntoken\r\n");
    }
    round_trip(*server);
}

TEST_F(ManyStreams, AllAbortedAtOnceAreAllNoticed) {
    open_all();
    TestClient survivor(server->port());
    survivor.send("GET /stream HTTP/1.1\r\n\r\n");
    survivor.read_until("\r\n\r\n");
    for (std::size_t i = 0; i < kMany; ++i) {
        i % 2 == 0 ? clients[i].close() : clients[i].reset();
    }
    EXPECT_TRUE(aborted.wait_for(kMany));
    EXPECT_TRUE(destroyed.wait_for(kMany));
    EXPECT_TRUE(comes_to(*server, 1));
    bodies.back().lock()->push("still here");
    exchanges.back()->wake();
    EXPECT_EQ(survivor.read_until("here\r\n"), "a\r\nstill here\r\n");
    EXPECT_EQ(aborted.count(), kMany);
}

}  // namespace
}  // namespace kvalet::http::test
