// n > 1 over real sockets: one prompt, several generations of it.
#include <gtest/gtest.h>

#include "routes_client.h"

namespace kvalet::api {
namespace {

std::string text_of(const test::FakeServer& server, std::string_view prompt, std::size_t n) {
    return server.model().detokenize(server.expected_tokens(prompt, n), false);
}

TEST(RoutesN, NativeIsAnArrayAndEventsCarryTheIndex) {
    test::FakeServer server;
    const std::string want = text_of(server, "hi", 20);
    const Response whole =
        post(server, "/completion", R"({"prompt":"hi","n_predict":20,"n_cmpl":3,"seed":7})");
    ASSERT_EQ(whole.status, 200) << whole.body;
    const Json body = *parse_json(whole.body);
    ASSERT_EQ(body.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(body[i]["index"], i);
        EXPECT_EQ(body[i]["content"], want);
        EXPECT_EQ(body[i]["prompt"], "<s>hi");
        EXPECT_EQ(body[i]["tokens_evaluated"], 3);
        EXPECT_EQ(body[i]["tokens_predicted"], 20);
        EXPECT_EQ(body[i]["generation_settings"]["seed"], 7 + i);
    }
    EXPECT_EQ(server.model().seeds(), (std::vector<std::uint32_t>{7, 8, 9}));
    EXPECT_EQ(server.engine().snapshot()->counters.prompt_tokens_total, 3U) << "the prompt is computed once";

    const Response stream =
        post(server, "/completion", R"({"prompt":"hi","n_predict":20,"n":2,"stream":true})");
    ASSERT_EQ(stream.status, 200);
    std::string texts[2];
    int ends = 0;
    for (const Json& event : events_of(stream.body)) {
        texts[event["index"].get<std::size_t>()] += event["content"].get<std::string>();
        ends += event["stop"] == true ? 1 : 0;
    }
    EXPECT_EQ(texts[0], want);
    EXPECT_EQ(texts[1], want);
    EXPECT_EQ(ends, 2);
}

TEST(RoutesN, ARandomSeedStaysRandomForEach) {
    test::FakeServer server;
    ASSERT_EQ(post(server, "/completion", R"({"prompt":"hi","n_predict":1,"n":2})").status, 200);
    EXPECT_EQ(server.model().seeds(), (std::vector<std::uint32_t>{text::kRandomSeed, text::kRandomSeed}));
}

TEST(RoutesN, ChatStreamedAndNot) {
    test::FakeServer server;
    const std::string ask = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9,"n":4)";
    const std::string want = text_of(server, "<|turn|>user\nhi<|end|><|turn|>assistant\n", 9);
    const Response whole = post(server, "/v1/chat/completions", ask + "}");
    ASSERT_EQ(whole.status, 200) << whole.body;
    const Json body = *parse_json(whole.body);
    ASSERT_EQ(body["choices"].size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(body["choices"][i]["index"], i);
        EXPECT_EQ(body["choices"][i]["message"]["content"], want);
    }
    EXPECT_EQ(body["usage"]["completion_tokens"], 9) << "the first one's";

    const Response stream = post(server, "/v1/chat/completions",
                                 ask + R"(,"stream":true,"stream_options":{"include_usage":true}})");
    EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
    EXPECT_EQ(stream.body.find("[DONE]"), stream.body.rfind("[DONE]")) << "once";
    std::string texts[4];
    int roles[4] = {};
    int ends[4] = {};
    int usages = 0;
    for (const Json& event : events_of(stream.body)) {
        if (event["choices"].empty()) {
            ++usages;
            EXPECT_EQ(event["usage"]["completion_tokens"], 9);
            continue;
        }
        const Json& choice = event["choices"][0];
        const auto i = choice["index"].get<std::size_t>();
        roles[i] += choice["delta"].contains("role") ? 1 : 0;
        ends[i] += choice["finish_reason"] == "length" ? 1 : 0;
        if (choice["delta"].contains("content") && choice["delta"]["content"].is_string()) {
            texts[i] += choice["delta"]["content"].get<std::string>();
        }
    }
    EXPECT_EQ(usages, 4) << "each choice's own, as llama-server has it";
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(texts[i], want);
        EXPECT_EQ(roles[i], 1);
        EXPECT_EQ(ends[i], 1);
    }
}

TEST(RoutesN, SeveralPromptsCountOnePromptAfterTheOther) {
    test::FakeServer server;
    const std::string ask = R"({"prompt":["a","bc"],"n_predict":5,"n":2)";
    const std::string want[] = {text_of(server, "a", 5), text_of(server, "bc", 5)};
    const Json oai = *parse_json(post(server, "/v1/completions", ask + "}").body);
    ASSERT_EQ(oai["choices"].size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(oai["choices"][i]["index"], i);
        EXPECT_EQ(oai["choices"][i]["text"], want[i / 2]);
    }
    std::string texts[4];
    for (const Json& event : events_of(post(server, "/v1/completions", ask + R"(,"stream":true})").body)) {
        const Json& choice = event["choices"][0];
        texts[choice["index"].get<std::size_t>()] += choice["text"].get<std::string>();
    }
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(texts[i], want[i / 2]);
    }
}

TEST(RoutesN, MoreThanTheSlotsIsRefused) {
    test::FakeServer server;
    for (const char* name : {"n", "n_cmpl"}) {
        for (const char* value : {"0", "5", "-1"}) {
            const Response r =
                post(server, "/completion", R"({"prompt":"a",")" + std::string(name) + "\":" + value + "}");
            EXPECT_EQ(r.status, 400);
            EXPECT_EQ(error_message(r),
                      "Field '" + std::string(name) + "': must be between 1 and 4, but is " + value);
        }
    }
}

TEST(RoutesN, AllGoWithTheirClient) {
    test::FakeServer server(large());
    {
        const HeldStream stream(
            server, R"({"prompt":"hi","n_predict":2500,"n":3,"stream":true,"sse_ping_interval":-1})");
        EXPECT_TRUE(comes_to(server, [](const engine::Snapshot& s) { return s.n_processing == 3; }));
        const Response parked = post(server, "/requests/" + stream.id + "/park", "");
        EXPECT_EQ(parked.status, 400);
        EXPECT_EQ(error_message(parked), "A request with n > 1 cannot be parked");
    }
    EXPECT_TRUE(comes_to(server, [](const engine::Snapshot& s) {
        return s.counters.n_cancelled_total == 3 && s.n_processing == 0;
    }));
    EXPECT_EQ(post(server, "/completion", R"({"prompt":"hi","n_predict":5,"n":4})").status, 200);
}

}  // namespace
}  // namespace kvalet::api
