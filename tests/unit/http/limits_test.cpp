// Sizes, timeouts and bad input over real sockets.
#include <gtest/gtest.h>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

using std::chrono::milliseconds;

/// What a client that sends `bytes` reads until the server closes.
std::string answer_to(const Server& server, const std::string& bytes) {
    TestClient client(server.port());
    static_cast<void>(client.try_send(bytes));
    return client.read_to_end();
}

TEST(Limits, BadInputGetsItsErrorAndTheConnectionIsClosed) {
    const auto server = start_server();
    TestClient bystander(server->port());
    EXPECT_EQ(bystander.get("/ping").body, "pong");
    const std::string post = "POST /echo HTTP/1.1\r\n";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"HTTP/1.1 400 ", "nonsense\r\n\r\n"},
        {"HTTP/1.1 400 ", std::string("\0\0\0\0", 4)},
        {"HTTP/1.1 400 ",
         post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /ping HTTP/1.1\r\n\r\n"},
        {"HTTP/1.1 400 ",
         post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabcGET /ping HTTP/1.1\r\n\r\n"},
        {"HTTP/1.1 431 ", "GET /ping HTTP/1.1\r\nA: " + std::string(70'000, 'a') + "\r\n\r\n"},
        {"HTTP/1.1 413 ", post + "Content-Length: 99999999999\r\n\r\n"},
    };
    for (const auto& [status, bytes] : cases) {
        const std::string answer = answer_to(*server, bytes);
        EXPECT_TRUE(answer.starts_with(status)) << bytes.substr(0, 80) << "\n got " << answer;
        EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
        EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << "nothing behind it is answered";
    }
    EXPECT_EQ(bystander.get("/ping").body, "pong");
}

TEST(Limits, ATooLargeBodyIsAnsweredAlthoughItIsStillBeingSent) {
    ServerConfig config;
    config.max_body_bytes = 4 << 20;
    const auto server = start_server({}, std::move(config));
    TestClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 4200000\r\n\r\n");
    client.send(std::string(4'000'000, 'a'));
    EXPECT_EQ(client.read_response().status, 413);
    client.close();

    TestClient chunked(server->port());
    chunked.send("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
        chunked.send("100000\r\n" + std::string(1 << 20, 'a') + "\r\n");
    }
    EXPECT_EQ(chunked.read_response().status, 413);
}

TEST(Limits, AllBodiesTogetherAreBounded) {
    Desk desk;
    Router router;
    router.add("POST", "/wait", desk.handler());
    ServerConfig config;
    config.max_total_body_bytes = 1000;
    const auto server = start_server(std::move(router), std::move(config));
    TestClient first(server->port());
    first.send("POST /wait HTTP/1.1\r\nContent-Length: 600\r\n\r\n" + std::string(600, 'a'));
    const auto exchange = desk.take();
    const std::string echo = "POST /echo HTTP/1.1\r\nContent-Length: 600\r\n\r\n" + std::string(600, 'b');
    EXPECT_TRUE(answer_to(*server, echo).starts_with("HTTP/1.1 503 "));
    exchange->send(text_reply("ok"));
    EXPECT_EQ(first.read_response().body, "ok");
    TestClient second(server->port());
    for (int i = 0; i < 3; ++i) {
        second.send(echo);
        EXPECT_EQ(second.read_response().status, 200) << "what was answered counts no more";
    }
}

TEST(Limits, HalfARequestIsTimedOut) {
    ServerConfig config;
    config.header_timeout = milliseconds(100);
    config.body_idle_timeout = milliseconds(100);
    const auto server = start_server({}, std::move(config));
    for (const char* half :
         {"GET /pi", "GET /ping HTTP/1.1\r\nA: b\r\n", "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
          "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na"}) {
        const std::string answer = answer_to(*server, half);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << half << "\n got " << answer;
    }
    EXPECT_EQ(answer_to(*server, "\r\n\r\n"), "") << "silence is closed in silence";
    round_trip(*server);
}

TEST(Limits, ATricklingHeaderIsTimedOutAllTheSame) {
    ServerConfig config;
    config.header_timeout = milliseconds(300);
    const auto server = start_server({}, std::move(config));
    TestClient client(server->port());
    client.send("GET /ping HTTP/1.1\r\nA: ");
    // A byte for each round trip: a timer that started anew with each would let this go on.
    while (client.try_send("a") && server->open_connections() > 0) {
        TestClient other(server->port());
        other.send("GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n");
        other.read_to_end();
        if (server->open_connections() == 0) {
            break;
        }
    }
    EXPECT_TRUE(client.read_to_end().starts_with("HTTP/1.1 408 "));
}

TEST(Limits, AWaitingReplyIsNotTimedOut) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    ServerConfig config;
    config.header_timeout = config.body_idle_timeout = config.keep_alive_timeout = milliseconds(100);
    const auto server = start_server(std::move(router), std::move(config));
    TestClient client(server->port());
    client.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto exchange = desk.take();
    TestClient silent(server->port());  // its end shows that the timeout has passed
    EXPECT_EQ(silent.read_to_end(), "");
    exchange->send(text_reply("ok"));
    EXPECT_EQ(client.read_response().body, "ok");
    EXPECT_EQ(client.read_to_end(), "") << "and then the connection is closed as idle";
}

TEST(Limits, TheLongestIdleConnectionMakesRoom) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    ServerConfig config;
    config.max_connections = 3;
    const auto server = start_server(std::move(router), std::move(config));
    TestClient busy(server->port());
    busy.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto first = desk.take();
    TestClient oldest(server->port());
    EXPECT_EQ(oldest.get("/ping").body, "pong");
    TestClient younger(server->port());
    EXPECT_EQ(younger.get("/ping").body, "pong");
    TestClient newest(server->port());
    EXPECT_EQ(newest.get("/ping").body, "pong");
    EXPECT_EQ(oldest.read_to_end(), "");
    EXPECT_EQ(younger.get("/ping").body, "pong");

    // With all three answering there is no room to be made.
    younger.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto second = desk.take();
    newest.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto third = desk.take();
    TestClient refused(server->port());
    EXPECT_EQ(refused.read_response().status, 503);
    EXPECT_EQ(refused.read_to_end(), "");
    for (const auto& exchange : {first, second, third}) {
        exchange->send(text_reply("ok"));
    }
    EXPECT_EQ(busy.read_response().body, "ok");
    EXPECT_EQ(newest.read_response().body, "ok");
}

TEST(Limits, StopAcceptingLetsRequestsFinish) {
    Desk desk;
    Router router;
    router.add("GET", "/wait", desk.handler());
    const auto server = start_server(std::move(router));
    TestClient idle(server->port());
    EXPECT_EQ(idle.get("/ping").body, "pong");
    TestClient busy(server->port());
    busy.send("GET /wait HTTP/1.1\r\n\r\n");
    const auto exchange = desk.take();
    server->stop_accepting();
    EXPECT_THROW(TestClient{server->port()}, std::runtime_error);
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_EQ(server->open_exchanges(), 1U);
    exchange->send(text_reply("ok"));
    const auto response = busy.read_response();
    EXPECT_EQ(response.body, "ok");
    EXPECT_EQ(response.header("Connection"), "close");
    EXPECT_EQ(busy.read_to_end(), "");
}

}  // namespace
}  // namespace kvalet::http::test
