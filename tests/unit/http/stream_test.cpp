// Streamed replies: flush, wake, deadlines, back-pressure.
#include <gtest/gtest.h>
#include <thread>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Never at a loss for data.
class EndlessBody final : public Body {
  public:
    Chunk next(TimePoint) override {
        calls.add();
        return {Chunk::Kind::data, std::string(kBytes, 'x'), std::nullopt};
    }
    static constexpr std::size_t kBytes = 16 << 10;
    Counter calls;
};

/// A server with one stream open on GET /stream and its body in hand.
class StreamTest : public testing::Test {
  protected:
    void open(ServerConfig config = {}, int receive_buffer_bytes = 0, const std::string& version = "1.1") {
        Router router;
        router.add("GET", "/stream", desk.handler());
        server = start_server(std::move(router), std::move(config));
        client.emplace(server->port(), receive_buffer_bytes);
        client->send("GET /stream HTTP/" + version + "\r\n\r\n");
        exchange = desk.take();
    }
    void push(std::string bytes) {
        body->push(std::move(bytes));
        exchange->wake();
    }

    Desk desk;
    Counter destroyed;
    std::shared_ptr<QueueBody> body = std::make_shared<QueueBody>(&destroyed);
    std::unique_ptr<Server> server;
    std::optional<TestClient> client;
    std::shared_ptr<Exchange> exchange;
};

TEST_F(StreamTest, SendsTheHeadAtOnceAndEachChunkAsItComes) {
    open();
    exchange->send(stream_reply(body));
    const std::string head = client->read_until("\r\n\r\n");
    EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
    EXPECT_EQ(head.find("Content-Length"), std::string::npos);
    push("data: 1\n\n");
    EXPECT_EQ(client->read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
    push("data: 2\n\n");
    EXPECT_EQ(client->read_until("\n\n\r\n"), "9\r\ndata: 2\n\n\r\n");
    body->push("a");
    body->push("b");
    body->finish();
    body.reset();
    exchange->wake();
    EXPECT_EQ(client->read_until("0\r\n\r\n"), "1\r\na\r\n1\r\nb\r\n0\r\n\r\n") << "one chunk for each";
    EXPECT_TRUE(destroyed.wait_for(1));
    EXPECT_EQ(client->get("/ping").body, "pong") << "the connection goes on";
    EXPECT_FALSE(exchange->aborted());
}

TEST_F(StreamTest, IsReadyBeforeItIsSent) {
    open();
    body->push("early");
    body->finish();
    exchange->wake();
    exchange->send(stream_reply(body));
    EXPECT_EQ(client->read_response().body, "early");
}

TEST_F(StreamTest, GivesHttp10TheBareBytesAndCloses) {
    open({}, 0, "1.0");
    exchange->send(stream_reply(body));
    EXPECT_EQ(client->read_until("\r\n\r\n").find("Transfer-Encoding"), std::string::npos);
    push("abc");
    body->finish();
    exchange->wake();
    EXPECT_EQ(client->read_to_end(), "abc");
}

TEST_F(StreamTest, HeadOfAStreamHasNoBody) {
    Router router;
    router.add("GET", "/stream", desk.handler());
    server = start_server(std::move(router));
    client.emplace(server->port());
    client->send("HEAD /stream HTTP/1.1\r\n\r\n");
    desk.take()->send(stream_reply(std::exchange(body, nullptr)));
    EXPECT_EQ(client->read_response(true).header("Transfer-Encoding"), "chunked");
    EXPECT_TRUE(destroyed.wait_for(1));
    EXPECT_EQ(client->get("/ping").body, "pong");
}

TEST_F(StreamTest, AnExceptionCutsTheBodyShort) {
    class Throwing final : public Body {
        Chunk next(TimePoint) override { throw std::runtime_error("on purpose"); }
    };
    open();
    Counter aborted;
    exchange->on_abort([&] { aborted.add(); });
    exchange->send(stream_reply(std::make_shared<Throwing>()));
    client->read_until("\r\n\r\n");
    EXPECT_EQ(client->read_to_end(), "") << "no last chunk: the client sees that something is missing";
    EXPECT_TRUE(aborted.wait_for(1));
    round_trip(*server);
}

TEST_F(StreamTest, WakesByItselfAtTheDeadline) {
    open();
    const auto deadline = steady_clock::now() + milliseconds(100);
    body->set_wake_at(deadline);
    exchange->send(stream_reply(body));
    client->read_until("keepalive\r\n");
    EXPECT_GE(steady_clock::now(), deadline);
}

// A timer that each wake sets anew would never come to fire here, nor would the deadline after the storm.
TEST_F(StreamTest, AStormOfWakesDoesNotPostponeTheDeadline) {
    open();
    const auto deadline = steady_clock::now() + milliseconds(500);
    body->set_wake_at(deadline);
    exchange->send(stream_reply(body));
    client->read_until("\r\n\r\n");
    while (steady_clock::now() < deadline - milliseconds(50)) {
        exchange->wake();
    }
    EXPECT_GT(body->calls.count(), 1U);
    client->read_until("keepalive\r\n");
}

TEST_F(StreamTest, OtherStreamsTrafficDoesNotPostponeTheDeadline) {
    open();
    TestClient busy_client(server->port());
    busy_client.send("GET /stream HTTP/1.1\r\n\r\n");
    const auto busy = desk.take();
    const auto endless = std::make_shared<EndlessBody>();
    busy->send(stream_reply(endless));
    std::thread reader([&] {
        try {
            while (true) {
                busy_client.read_exactly(EndlessBody::kBytes);
            }
        } catch (const std::runtime_error&) {  // the server has closed it
        }
    });
    ASSERT_TRUE(endless->calls.wait_for(100));
    body->set_wake_at(steady_clock::now() + milliseconds(200));
    exchange->send(stream_reply(body));
    EXPECT_NO_THROW(client->read_until("keepalive\r\n"));
    EXPECT_TRUE(endless->calls.wait_for(endless->calls.count() + 100))
        << "the other stream ran all the while";
    server->stop();
    reader.join();
}

TEST_F(StreamTest, WakesAreCoalesced) {
    open();
    exchange->send(stream_reply(body));
    client->read_until("\r\n\r\n");
    round_trip(*server);
    const std::size_t before = body->calls.count();
    // With the io thread held by other work, any number of wakes can become one call only.
    Counter entered;
    Counter release;
    exchange->post([&] {
        entered.add();
        static_cast<void>(release.wait_for(1));
    });
    ASSERT_TRUE(entered.wait_for(1));
    for (int i = 0; i < 1000; ++i) {
        exchange->wake();
    }
    release.add();
    round_trip(*server);
    EXPECT_EQ(body->calls.count(), before + 1);
}

TEST_F(StreamTest, NoWakeIsLost) {
    open();
    exchange->send(stream_reply(body));
    client->read_until("\r\n\r\n");
    for (int i = 0; i < 2000; ++i) {
        push("x");  // each is awaited, so a lost wake would hang
        ASSERT_EQ(client->read_exactly(6), "1\r\nx\r\n");
    }
}

/// Waits until the body is not asked any more; false when it has been asked beyond `limit`.
bool wait_until_full(const Server& server, const EndlessBody& body, std::size_t limit) {
    constexpr int kQuietRounds = 20;
    std::size_t last = 0;
    for (int quiet = 0; quiet < kQuietRounds;) {
        round_trip(server);
        const std::size_t calls = body.calls.count();
        if (calls > limit) {
            return false;
        }
        quiet = calls == last && calls > 0 ? quiet + 1 : 0;
        last = calls;
    }
    return true;
}

TEST_F(StreamTest, ASlowReaderIsNotPulled) {
    open({}, 16 << 10);
    const auto endless = std::make_shared<EndlessBody>();
    exchange->send(stream_reply(endless));
    constexpr std::size_t kLimit = (1 << 20) / EndlessBody::kBytes;
    ASSERT_TRUE(wait_until_full(*server, *endless, kLimit))
        << "more than a MiB was taken for a client that does not read";
    const std::size_t full = endless->calls.count();
    exchange->wake();
    round_trip(*server);
    EXPECT_EQ(endless->calls.count(), full) << "a wake must not pull past a full socket";
    client->read_exactly(2 << 20);
    EXPECT_TRUE(endless->calls.wait_for(full + 1)) << "reading goes on where it stood";
}

TEST_F(StreamTest, AClientThatTakesNothingOfItsStreamIsCutOff) {
    ServerConfig config;
    config.slow_client_timeout = milliseconds(200);
    Counter logged;
    config.log = [&](const std::string& line) {
        EXPECT_NE(line.find("took nothing"), std::string::npos) << line;
        logged.add();
    };
    open(std::move(config), 16 << 10);
    Counter aborted;
    exchange->on_abort([&] { aborted.add(); });
    exchange->send(stream_reply(std::make_shared<EndlessBody>()));
    EXPECT_TRUE(aborted.wait_for(1));
    EXPECT_TRUE(logged.wait_for(1));
    EXPECT_TRUE(comes_to(*server, 0));
    server->stop();
}

TEST_F(StreamTest, ACallAtATime) {
    open();
    Counter replaced, called;
    const auto now = steady_clock::now();
    exchange->call_at(now + std::chrono::hours(1), [&] { replaced.add(); });
    exchange->call_at(now + milliseconds(50), [&] {
        EXPECT_GE(steady_clock::now(), now + milliseconds(50));
        called.add();
    });
    EXPECT_TRUE(called.wait_for(1));
    EXPECT_EQ(called.count(), 1U);
    exchange->call_at(steady_clock::now() - milliseconds(1), [&] { called.add(); });
    EXPECT_TRUE(called.wait_for(2)) << "one that is late already";
    EXPECT_EQ(replaced.count(), 0U);
    exchange->send(stream_reply(body));
    client->read_until("\r\n\r\n");
    exchange->call_at(steady_clock::now(), [&] { called.add(); });
    EXPECT_TRUE(called.wait_for(3)) << "also while it is streamed";
}

TEST_F(StreamTest, ACallIsForgottenWithTheReply) {
    open();
    const auto kept = std::make_shared<int>(0);
    exchange->call_at(steady_clock::now() + std::chrono::hours(1), [kept] {});
    round_trip(*server);
    EXPECT_EQ(kept.use_count(), 2);
    exchange->send({200, "text/plain", {}, "done", nullptr});
    EXPECT_EQ(client->read_response().body, "done");
    round_trip(*server);
    EXPECT_EQ(kept.use_count(), 1) << "whoever waits for it is let go";
    exchange->call_at(steady_clock::now() + std::chrono::hours(1), [kept] {});
    round_trip(*server);
    EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(StreamTest, AWriteThatStallsEndsTheConnection) {
    ServerConfig config;
    config.write_timeout = milliseconds(200);
    open(std::move(config), 16 << 10);
    Counter aborted;
    exchange->on_abort([&] { aborted.add(); });
    exchange->send(stream_reply(std::make_shared<EndlessBody>()));
    EXPECT_TRUE(aborted.wait_for(1));
    EXPECT_TRUE(comes_to(*server, 0));
}

}  // namespace
}  // namespace kvalet::http::test
