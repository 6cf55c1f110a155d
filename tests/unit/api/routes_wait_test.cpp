// Requests that wait long before anything can be said of them: signs of life, over real sockets.
#include <gtest/gtest.h>

#include "routes_client.h"

namespace kvalet::api {
namespace {

using std::chrono::milliseconds;

/// Both slots are taken by streams that stand still, as nobody reads them.
struct Taken {
    explicit Taken(Options options)
        : server(patient(std::move(options))), first(server, kLong), second(server, kLong) {}
    /// One that nobody reads makes way for those who wait; here nobody does.
    static Options patient(Options options) {
        options.backend.n_slots = 2;
        options.engine.policy.preempt = false;
        return options;
    }
    static constexpr const char* kLong =
        R"({"prompt":"hi","n_predict":3000,"stream":true,"sse_ping_interval":-1})";
    test::FakeServer server;
    HeldStream first, second;
};

Options with_keepalives() {
    Options options = large();
    options.api.http_keepalive_body = true;
    options.api.body_keepalive_interval = milliseconds{20};
    return options;
}

/// What stands behind the white space of a chunked body.
Json json_at_the_end(TestClient& client) {
    const std::string rest = client.read_until("0\r\n\r\n");
    const std::size_t begin = rest.find('{');
    return *parse_json(rest.substr(begin, rest.rfind('}') - begin + 1));
}

TEST(RoutesWait, AStreamInTheQueueGetsItsHeadersAndItsPlace) {
    Taken taken(large());
    TestClient client(taken.server.port());
    client.send(post_text("/completion", R"({"prompt":"hi","n_predict":3,"stream":true})"));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("HTTP/1.1 200"), 0U);
    EXPECT_NE(head.find("text/event-stream"), std::string::npos);
    EXPECT_NE(client.read_until("\n\n").find(": queued ahead=0"), std::string::npos);
    TestClient behind(taken.server.port());
    behind.send(post_text("/v1/chat/completions",
                          R"({"messages":[{"role":"user","content":"x"}],"max_tokens":3,"stream":true})"));
    EXPECT_NE(behind.read_until("\n\n\r\n").find(": queued ahead=1"), std::string::npos);
    // What is wrong is known at once, and has a status of its own.
    EXPECT_EQ(post(taken.server, "/completion", R"({"prompt":"hi","stream":true,"n_predict":"x"})").status,
              400);
    taken.first.client.close();
    EXPECT_EQ(events_of(client.read_until("0\r\n\r\n")).size(), 4U);
    behind.read_until("data: [DONE]");
}

TEST(RoutesWait, AStreamWithoutNoticesGetsNothingYet) {
    Taken taken(large());
    TestClient silent(taken.server.port());
    silent.send(
        post_text("/completion", R"({"prompt":"hi","n_predict":3,"stream":true,"sse_notices":"off"})"));
    TestClient other(taken.server.port());
    other.send(post_text("/completion", R"({"prompt":"hi","n_predict":3,"stream":true})"));
    other.read_until(": queued");  // came later, and has heard already
    taken.server.engine().stop();
    const Response r = silent.read_response();
    EXPECT_EQ(r.status, 503) << "its status was still open";
    EXPECT_NE(other.read_until("0\r\n\r\n").find("data: {\"error\":"), std::string::npos);
}

TEST(RoutesWait, ARequestWithSeveralPromptsIsParkedAsAWhole) {
    test::FakeServer server(large());
    HeldStream stream(server,
                      R"({"prompt":["hi","there"],"n_predict":3000,"stream":true,"sse_ping_interval":-1})");
    ASSERT_TRUE(comes_to(server, [](const engine::Snapshot& s) { return s.n_processing == 2; }));
    ASSERT_EQ(post(server, "/requests/" + stream.id + "/park", "").status, 200);
    EXPECT_TRUE(comes_to(
        server, [](const engine::Snapshot& s) { return s.n_preempted == 2 && s.n_processing == 0; }));
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/park", "").status, 400);
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/priority", R"({"priority":4})").status, 200);
    const Json listed = *parse_json(get(server, "/requests").body);
    ASSERT_EQ(listed["data"].size(), 2U);
    for (const Json& entry : listed["data"]) {
        EXPECT_EQ(entry["priority"], 4);
    }
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/unpark", "").status, 200);
    const std::vector<Json> events = events_of(stream.client.read_until("0\r\n\r\n"));
    EXPECT_GT(events.size(), 6000U);
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/unpark", "").status, 404);
}

TEST(RoutesWait, ABodyThatTakesLongBeginsWithWhiteSpace) {
    Taken taken(with_keepalives());
    TestClient client(taken.server.port());
    client.send(post_text("/completion", R"({"prompt":"hi","n_predict":3})"));
    const std::string head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("HTTP/1.1 200"), 0U);
    EXPECT_NE(head.find("application/json"), std::string::npos);
    client.read_until("1\r\n \r\n1\r\n \r\n");
    taken.first.client.close();
    EXPECT_EQ(json_at_the_end(client)["tokens_predicted"], 3);
    const Response next = [&] {
        client.send(post_text("/tokenize", R"({"content":"a"})"));
        return client.read_response();
    }();
    EXPECT_EQ(next.status, 200) << "the connection goes on";
}

TEST(RoutesWait, AnErrorThatComesLateIsAnErrorObject) {
    Taken taken(with_keepalives());
    TestClient client(taken.server.port());
    client.send(post_text("/completion", R"({"prompt":"hi","n_predict":3})"));
    client.read_until("1\r\n \r\n");
    EXPECT_EQ(post(taken.server, "/completion", R"({"prompt":"hi","n_predict":"x"})").status, 400);
    taken.server.engine().stop();
    EXPECT_EQ(json_at_the_end(client)["error"]["code"], 503);
}

TEST(RoutesWait, WithoutTheFlagABodyIsAsItWas) {
    Options options = large();
    options.api.body_keepalive_interval = milliseconds{1};
    Taken taken(std::move(options));
    TestClient client(taken.server.port());
    client.send(post_text("/completion", R"({"prompt":"hi","n_predict":3})"));
    EXPECT_TRUE(comes_to(taken.server, [](const engine::Snapshot& s) { return s.n_deferred == 1; }));
    taken.first.client.close();
    const Response r = client.read_response();
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.header("Content-Length"), std::to_string(r.body.size()));
    EXPECT_EQ(r.body.front(), '{');
}

}  // namespace
}  // namespace kvalet::api
