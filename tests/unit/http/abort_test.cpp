// Clients that go away.
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

enum class Leave { close, reset };

class AbortTest : public testing::TestWithParam<Leave> {
  protected:
    AbortTest() {
        Router router;
        router.add("GET", "/wait", desk.handler());
        ServerConfig config;
        config.max_pipelined_bytes = 1000;
        server = start_server(std::move(router), std::move(config));
        client.emplace(server->port());
        client->send("GET /wait HTTP/1.1\r\n\r\n");
        exchange = desk.take();
        exchange->on_abort([this] { aborted.add(); });
    }
    void leave() { GetParam() == Leave::close ? client->close() : client->reset(); }

    Desk desk;
    Counter aborted;
    Counter destroyed;
    std::unique_ptr<Server> server;
    std::optional<TestClient> client;
    std::shared_ptr<Exchange> exchange;
};

std::string way_name(const testing::TestParamInfo<Leave>& way) {
    return way.param == Leave::close ? "Close" : "Reset";
}

INSTANTIATE_TEST_SUITE_P(Ways, AbortTest, testing::Values(Leave::close, Leave::reset), way_name);

TEST_P(AbortTest, IsNoticedWhileTheReplyIsPending) {
    EXPECT_FALSE(exchange->aborted());
    leave();
    EXPECT_TRUE(aborted.wait_for(1));
    EXPECT_TRUE(exchange->aborted());
    Counter late;
    exchange->on_abort([&] { late.add(); });
    EXPECT_TRUE(late.wait_for(1)) << "also for those who ask afterwards";
    exchange->send(text_reply("into the void"));
    round_trip(*server);
    EXPECT_EQ(aborted.count(), 1U);
}

TEST_P(AbortTest, IsNoticedWhileAStreamIsSilent) {
    exchange->send(stream_reply(std::make_shared<QueueBody>(&destroyed)));
    client->read_until("\r\n\r\n");
    leave();
    EXPECT_TRUE(aborted.wait_for(1));
    EXPECT_TRUE(destroyed.wait_for(1));
    EXPECT_TRUE(comes_to(*server, 0));
    exchange->wake();
}

TEST_P(AbortTest, IsNoticedWhileAStreamRuns) {
    class Endless final : public Body {
        Chunk next(TimePoint) override { return {Chunk::Kind::data, "token", std::nullopt}; }
    };
    exchange->send(stream_reply(std::make_shared<Endless>()));
    client->read_exactly(10'000);
    leave();
    EXPECT_TRUE(aborted.wait_for(1));
}

TEST_P(AbortTest, IsNoticedBehindPipelinedBytes) {
    client->send("GET /ping HTTP/1.1\r\n\r\n");
    round_trip(*server);
    leave();
    EXPECT_TRUE(aborted.wait_for(1));
}

TEST_P(AbortTest, IsNoticedBehindMorePipelinedBytesThanAreRead) {
    // Little enough for the kernel to take it all: an end that does not fit behind it cannot be seen by
    // anybody.
    client->send("POST /echo HTTP/1.1\r\nContent-Length: 300000\r\n\r\n" + std::string(2'000, 'a'));
    round_trip(*server);
    client->send(std::string(2'000, 'a'));
    leave();
    EXPECT_TRUE(aborted.wait_for(1));
}

TEST_P(AbortTest, IsNotCalledAfterTheReplyIsComplete) {
    exchange->send(text_reply("done"));
    EXPECT_EQ(client->read_response().body, "done");
    leave();
    round_trip(*server);
    EXPECT_EQ(aborted.count(), 0U);
    EXPECT_FALSE(exchange->aborted());
}

TEST_P(AbortTest, AbandonedAfterwardsNeedsNoReply) {
    leave();
    ASSERT_TRUE(aborted.wait_for(1));
    exchange.reset();
    EXPECT_TRUE(comes_to(*server, 0));
}

TEST(Abort, CallbacksThatThrowDoNotKeepOthersFromBeingCalled) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    client.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto exchange = desk.take();
    Counter aborted;
    exchange->on_abort([] { throw std::runtime_error("on purpose"); });
    exchange->on_abort([&] { aborted.add(); });
    client.close();
    EXPECT_TRUE(aborted.wait_for(1));
    round_trip(*server);
}

TEST(Abort, AHalfClosedClientIsTakenForGoneButMayStillReadAShortReply) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    client.send("GET /wait HTTP/1.1\r\n\r\n");
    client.shutdown_write();
    const auto exchange = desk.take();
    Counter aborted;
    exchange->on_abort([&] { aborted.add(); });
    ASSERT_TRUE(aborted.wait_for(1));
    exchange->send(text_reply("still there?"));
    EXPECT_EQ(client.read_response().body, "still there?");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(Abort, AHalfCloseOnAUnixSocketIsHarmless) {
    const std::string path = testing::TempDir() + "kvalet_half_" + std::to_string(::getpid()) + ".sock";
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    ServerConfig config;
    config.host = "127.0.0.1," + path;
    const auto server = start_server(std::move(router), std::move(config));
    TestClient client(path);
    client.send("GET /wait HTTP/1.1\r\n\r\n");
    client.shutdown_write();
    const auto exchange = desk.take();
    Counter aborted;
    exchange->on_abort([&] { aborted.add(); });
    const auto body = std::make_shared<QueueBody>();
    exchange->send(stream_reply(body));
    client.read_until("\r\n\r\n");
    round_trip(*server);
    body->push("abc");
    exchange->wake();
    EXPECT_EQ(client.read_until("abc\r\n"), "3\r\nabc\r\n");
    EXPECT_EQ(aborted.count(), 0U);
    client.close();
    EXPECT_TRUE(aborted.wait_for(1)) << "the full close is";
}

TEST(Abort, StopAbortsEverything) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    auto server = start_server(std::move(router));
    TestClient pending_client(server->port());
    TestClient stream_client(server->port());
    pending_client.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto pending = desk.take();
    stream_client.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto stream = desk.take();
    Counter aborted;
    Counter destroyed;
    pending->on_abort([&] { aborted.add(); });
    stream->on_abort([&] { aborted.add(); });
    stream->send(stream_reply(std::make_shared<QueueBody>(&destroyed)));
    stream_client.read_until("\r\n\r\n");
    server->stop();
    EXPECT_EQ(aborted.count(), 2U);
    EXPECT_EQ(destroyed.count(), 1U);
    EXPECT_EQ(server->open_connections(), 0U);
    EXPECT_EQ(server->open_exchanges(), 0U);
    server.reset();
    // What is still held outlives the server and is harmless.
    Counter late;
    pending->on_abort([&] { late.add(); });
    EXPECT_EQ(late.count(), 1U);
    pending->send(text_reply("late"));
    stream->wake();
    stream->post([] { FAIL() << "there is no io thread any more"; });
}

TEST(Abort, ExchangesThatWaitInTheQueueOfAStoppedServerAreFreed) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    auto server = start_server(std::move(router));
    TestClient client(server->port());
    client.send("GET /wait HTTP/1.1\r\n\r\n");
    auto exchange = desk.take();
    exchange->on_abort([exchange] {});  // a cycle until the end of the exchange
    const std::weak_ptr<Exchange> watch = exchange;
    exchange.reset();
    server.reset();
    EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace kvalet::http::test
