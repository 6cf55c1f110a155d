// Requests and replies over real sockets.
#include "http/server.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

#include "unit/http/test_server.h"

namespace kvalet::http::test {
namespace {

TEST(Server, AnswersOnAKeptConnection) {
    const auto server = start_server();
    TestClient client(server->port());
    for (int i = 0; i < 3; ++i) {
        const auto response = client.get("/ping");
        EXPECT_EQ(response.status, 200);
        EXPECT_EQ(response.body, "pong");
        EXPECT_EQ(response.header("Content-Type"), "text/plain");
        EXPECT_FALSE(response.has("Connection"));
        EXPECT_TRUE(response.has("Date"));
    }
    EXPECT_EQ(server->open_connections(), 1U);
    EXPECT_EQ(server->threads(), 1U);
}

TEST(Server, PassesOnWhatTheRequestSaid) {
    Desk desk;
    Router router;
    router.add("POST", "/slots/{id}", desk.handler());
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    client.send(
        "POST /slots/3?action=save%21 HTTP/1.1\r\nhost: x\r\nX-Thing: a\r\nContent-Length: 4\r\n\r\nbody");
    const auto exchange = desk.take();
    const Request& request = exchange->request();
    EXPECT_EQ(request.target, "/slots/3?action=save%21");
    EXPECT_EQ(request.path, "/slots/3");
    EXPECT_EQ(request.query_value("action"), "save!");
    EXPECT_EQ(request.header("HOST"), "x");
    EXPECT_EQ(request.path_params, std::vector<std::string>{"3"});
    EXPECT_EQ(request.body, "body");
    EXPECT_TRUE(request.remote.starts_with("127.0.0.1:"));
    exchange->send(text_reply("ok"));
    EXPECT_EQ(client.read_response().body, "ok");
}

TEST(Server, KeepsPipelinedRequestsInOrder) {
    Desk desk;
    Router router;
    router.add("GET", "/slow", desk.handler());
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    std::string requests =
        "GET /slow HTTP/1.1\r\n\r\n\r\nGET /slow HTTP/1.1\r\n\r\n";  // an empty line more is allowed
    for (int i = 0; i < 50; ++i) {
        requests += "POST /echo HTTP/1.1\r\nContent-Length: 2\r\n\r\n" + std::to_string(10 + i);
    }
    client.send(requests);
    const auto slow = desk.take();
    round_trip(*server);
    EXPECT_TRUE(desk.empty()) << "the second waits for the first";
    slow->send(text_reply("slow"));
    EXPECT_EQ(client.read_response().body, "slow");
    desk.take()->send(text_reply("second"));
    EXPECT_EQ(client.read_response().body, "second");
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(client.read_response().body, std::to_string(10 + i));
    }
}

TEST(Server, KeepsPipelinedBytesBeyondItsLimit) {
    Desk desk;
    Router router;
    router.add("GET", "/slow", desk.handler());
    ServerConfig config;
    config.max_pipelined_bytes = 1000;
    const auto server = start_server(std::move(router), std::move(config));
    TestClient client(server->port());
    client.send("GET /slow HTTP/1.1\r\n\r\n");
    const auto slow = desk.take();
    const std::string big(100'000, 'b');
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + big);
    round_trip(*server);
    slow->send(text_reply("slow"));
    EXPECT_EQ(client.read_response().body, "slow");
    EXPECT_TRUE(client.read_response().body == big);
}

TEST(Server, TakesChunkedBodies) {
    const auto server = start_server();
    TestClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    round_trip(*server);
    client.send("2\r\nde\r\n0\r\n\r\n");
    EXPECT_EQ(client.read_response().body, "abcde");
    EXPECT_EQ(client.get("/ping").body, "pong");
}

TEST(Server, TakesLargeBodies) {
    const auto server = start_server();
    TestClient client(server->port());
    std::string body;
    for (int i = 0; body.size() < 3'000'000; ++i) {
        body += std::to_string(i);
    }
    client.send("POST /echo HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_TRUE(client.read_response().body == body);
}

TEST(Server, SpeaksHttp10) {
    const auto server = start_server();
    TestClient closing(server->port());
    closing.send("GET /ping HTTP/1.0\r\n\r\n");
    const auto response = closing.read_response();
    EXPECT_EQ(response.header("Connection"), "close");
    EXPECT_EQ(response.body, "pong");
    EXPECT_EQ(closing.read_to_end(), "");

    TestClient keeping(server->port());
    keeping.send("GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(keeping.read_response().header("Connection"), "keep-alive");
    keeping.send("GET /ping HTTP/1.0\r\n\r\n");
    EXPECT_EQ(keeping.read_response().body, "pong");
}

TEST(Server, ClosesWhenTheClientAsksOrTheReplyDoes) {
    Router router;
    router.add("GET", "/bye", [](const std::shared_ptr<Exchange>& exchange) {
        Reply reply = text_reply("bye");
        reply.headers.push_back({"Connection", "close"});
        exchange->send(std::move(reply));
    });
    const auto server = start_server(std::move(router));
    TestClient asking(server->port());
    asking.send("GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(asking.read_response().header("Connection"), "close");
    EXPECT_EQ(asking.read_to_end(), "");
    TestClient told(server->port());
    EXPECT_EQ(told.get("/bye").header("Connection"), "close");
    EXPECT_EQ(told.read_to_end(), "");
}

TEST(Server, AnswersAHalfClosedClient) {
    const auto server = start_server();
    TestClient client(server->port());
    client.send("GET /ping HTTP/1.1\r\n\r\nGET /ping HTTP/1.1\r\n\r\n");
    client.shutdown_write();
    EXPECT_EQ(client.read_response().body, "pong");
    EXPECT_EQ(client.read_response().body, "pong");
    EXPECT_EQ(client.read_to_end(), "");
}

TEST(Server, HeadOptionsAndErrors) {
    Router router;
    router.set_options([](const std::shared_ptr<Exchange>& exchange) { exchange->send({}); });
    ServerConfig config;
    config.decorate = [](const Request& request, Headers& headers) {
        headers.push_back({"Server", "test"});
        headers.push_back({"X-Origin", std::string{request.header("Origin")}});
    };
    config.format_error = [](int status, const std::string& message) {
        return Reply{status, "application/json", {}, "{" + message + "}", nullptr};
    };
    const auto server = start_server(std::move(router), std::move(config));
    TestClient client(server->port());

    client.send("HEAD /ping HTTP/1.1\r\nOrigin: o\r\n\r\n");
    const auto head = client.read_response(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("Content-Length"), "4");
    EXPECT_EQ(head.header("Server"), "test");
    EXPECT_EQ(head.header("X-Origin"), "o");

    const auto missing = client.get("/nowhere");
    EXPECT_EQ(missing.status, 404);
    EXPECT_EQ(missing.body, "{File Not Found}");
    EXPECT_EQ(missing.header("Server"), "test");
    EXPECT_EQ(missing.header("Content-Type"), "application/json");

    client.send("DELETE /ping HTTP/1.1\r\n\r\n");
    const auto wrong = client.read_response();
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.header("Allow"), "GET, HEAD, OPTIONS");

    client.send("OPTIONS * HTTP/1.1\r\n\r\n");
    const auto options = client.read_response();
    EXPECT_EQ(options.status, 200);
    EXPECT_EQ(options.header("Content-Length"), "0");

    client.send("GET http://somewhere:1234/ping HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.read_response().body, "pong");
}

TEST(Server, StatusesWithoutABodySendNone) {
    Router router;
    router.add("DELETE", "/thing", [](const std::shared_ptr<Exchange>& exchange) {
        exchange->send({204, "", {}, "must not be sent", nullptr});
    });
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    client.send("DELETE /thing HTTP/1.1\r\n\r\n");
    const auto response = client.read_response();
    EXPECT_EQ(response.status, 204);
    EXPECT_FALSE(response.has("Content-Length"));
    EXPECT_EQ(client.get("/ping").body, "pong") << "nothing stood between the two replies";
}

TEST(Server, ContinuesWhenExpectedTo) {
    const auto server = start_server();
    TestClient client(server->port());
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    EXPECT_EQ(client.read_response().body, "abc");
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc");
    EXPECT_EQ(client.read_response().status, 200) << "no need to continue when the body is there";
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\nExpect: a-miracle\r\n\r\n");
    EXPECT_EQ(client.read_response().status, 417);
}

TEST(Server, SurvivesHandlersThatThrowOrForget) {
    Router router;
    router.add("GET", "/throw",
               [](const std::shared_ptr<Exchange>&) { throw std::runtime_error("on purpose"); });
    router.add("GET", "/forget", [](const std::shared_ptr<Exchange>&) {});
    router.add("GET", "/post", [](const std::shared_ptr<Exchange>& exchange) {
        exchange->post([] { throw 7; });
        exchange->post([exchange] { exchange->send(text_reply("posted")); });
    });
    Counter logged;
    ServerConfig config;
    config.log = [&](const std::string&) { logged.add(); };
    const auto server = start_server(std::move(router), std::move(config));
    TestClient client(server->port());
    EXPECT_EQ(client.get("/throw").status, 500);
    EXPECT_EQ(client.get("/forget").status, 500);
    EXPECT_EQ(client.get("/post").body, "posted");
    EXPECT_EQ(logged.count(), 2U);
}

TEST(Server, RepliesFromOtherThreads) {
    std::vector<std::thread> workers;
    Router router;
    router.add("GET", "/worker", [&](const std::shared_ptr<Exchange>& exchange) {
        workers.emplace_back([exchange] { exchange->send(text_reply("worked")); });
    });
    const auto server = start_server(std::move(router));
    TestClient client(server->port());
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(client.get("/worker").body, "worked");
    }
    for (std::thread& worker : workers) {
        worker.join();
    }
}

TEST(ServerDeathTest, ASecondReplyIsAnAssertion) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Router router;
            router.add("GET", "/twice", [](const std::shared_ptr<Exchange>& exchange) {
                exchange->send({});
                exchange->send({});
            });
            const auto server = start_server(std::move(router));
            TestClient client(server->port());
            client.get("/twice");
        },
        "answered twice");
}

}  // namespace
}  // namespace kvalet::http::test
