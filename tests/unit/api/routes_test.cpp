// The routes over real sockets, on the real engine with a fake model.
#include <filesystem>
#include <gtest/gtest.h>

#include "routes_client.h"

namespace kvalet::api {
namespace {

TEST(Routes, BeforeTheModelIsLoaded) {
    Options options;
    options.attach = false;
    options.api.api_keys = {"k"};
    test::FakeServer server(std::move(options));
    for (const char* path : {"/health", "/v1/models", "/slots", "/nothing"}) {
        const Response r = get(server, path);
        EXPECT_EQ(r.status, 503) << path;
        EXPECT_EQ(r.body, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
        EXPECT_EQ(r.header("Content-Type"), "application/json; charset=utf-8");
        EXPECT_EQ(r.header("Server"), "llama.cpp");
    }
    EXPECT_EQ(post(server, "/completion", "{}").status, 503);
    EXPECT_EQ(get(server, "/").status, 200);
    server.attach();
    EXPECT_EQ(get(server, "/health").body, R"({"status":"ok"})");
}

TEST(Routes, KeysAndCors) {
    Options options;
    options.api.api_keys = {"one"};
    options.api.api_prefix = "/api";
    test::FakeServer server(std::move(options));
    EXPECT_EQ(get(server, "/api/health").status, 200);
    EXPECT_EQ(get(server, "/api/").status, 200);
    const Response refused = get(server, "/api/v1/models");
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.body,
              R"({"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}})");
    EXPECT_EQ(get(server, "/api/v1/models", "Authorization: Bearer one\r\n").status, 200);
    EXPECT_EQ(get(server, "/api/v1/models", "X-Api-Key: one\r\n").status, 200);
    EXPECT_EQ(get(server, "/api/nothing").status, 401);
    const Response unknown = get(server, "/models", "X-Api-Key: one\r\nOrigin: http://a.example\r\n");
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(unknown.body, R"({"error":{"code":404,"message":"File Not Found","type":"not_found_error"}})");
    EXPECT_EQ(unknown.header("Access-Control-Allow-Origin"), "http://a.example");

    TestClient client(server.port());
    client.send("OPTIONS /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\nOrigin: http://a.example\r\n\r\n");
    const Response options_reply = client.read_response();
    EXPECT_EQ(options_reply.status, 200);
    EXPECT_EQ(options_reply.body, "");
    EXPECT_EQ(options_reply.header("Access-Control-Allow-Origin"), "http://a.example");
    EXPECT_EQ(options_reply.header("Access-Control-Allow-Methods"), "GET, POST, DELETE, OPTIONS");
    EXPECT_EQ(options_reply.header("Access-Control-Allow-Credentials"), "true");
}

TEST(Routes, ErrorsOfTheHttpRoomAreErrorObjects) {
    test::FakeServer server;
    const Response r = get(server, "/completion");
    EXPECT_EQ(r.status, 405);
    EXPECT_EQ((*parse_json(r.body))["error"]["type"], "invalid_request_error");
}

TEST(Routes, NativeCompletionStreamedAndNot) {
    test::FakeServer server;
    const std::vector<Token> want = server.expected_tokens("hi", 20);
    const std::string text = server.model().detokenize(want, false);

    const Response whole =
        post(server, "/completion", R"({"prompt":"hi","n_predict":20,"return_tokens":true})");
    ASSERT_EQ(whole.status, 200) << whole.body;
    const Json body = *parse_json(whole.body);
    EXPECT_EQ(body["content"], text);
    EXPECT_EQ(body["tokens"], Json(want));
    EXPECT_EQ(body["stop_type"], "limit");
    EXPECT_EQ(body["truncated"], false);
    EXPECT_EQ(body["prompt"], "<s>hi");
    EXPECT_EQ(body["tokens_evaluated"], 3);
    EXPECT_EQ(body["tokens_predicted"], 20);
    EXPECT_EQ(body["timings"]["cache_n"].get<int>() + body["timings"]["prompt_n"].get<int>(), 3);
    EXPECT_EQ(whole.header("X-Request-Id").find("chatcmpl-"), 0U);

    const Response stream = post(server, "/completion", R"({"prompt":"hi","n_predict":20,"stream":true})");
    ASSERT_EQ(stream.status, 200);
    EXPECT_EQ(stream.header("Content-Type"), "text/event-stream");
    EXPECT_EQ(stream.header("X-Accel-Buffering"), "no");
    EXPECT_EQ(stream.header("Transfer-Encoding"), "chunked");
    EXPECT_EQ(stream.body.find("[DONE]"), std::string::npos);
    const std::vector<Json> events = events_of(stream.body);
    ASSERT_EQ(events.size(), 21U) << "one event for each token, and the last";
    std::string streamed;
    for (std::size_t i = 0; i < 20; ++i) {
        streamed += events[i]["content"];
        EXPECT_EQ(events[i]["tokens"][0], want[i]);
        EXPECT_EQ(events[i]["tokens_predicted"], i + 1);
    }
    EXPECT_EQ(streamed, text);
    EXPECT_EQ(events.back()["stop"], true);
    EXPECT_EQ(events.back()["content"], "");
}

TEST(Routes, ChatStreamedAndNot) {
    test::FakeServer server;
    const std::string ask = R"("messages":[{"role":"user","content":"hi"}],"max_tokens":9)";
    const std::string prompt = "<|turn|>user\nhi<|end|><|turn|>assistant\n";
    const std::string text = server.model().detokenize(server.expected_tokens(prompt, 9), false);

    const Response whole = post(server, "/v1/chat/completions", "{" + ask + "}");
    ASSERT_EQ(whole.status, 200) << whole.body;
    const Json body = *parse_json(whole.body);
    EXPECT_EQ(body["choices"][0]["message"]["content"], text);
    EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(body["usage"]["completion_tokens"], 9);
    EXPECT_EQ(body["id"], std::string(whole.header("X-Request-Id")));

    const Response stream = post(server, "/v1/chat/completions",
                                 "{" + ask + R"(,"stream":true,"stream_options":{"include_usage":true}})");
    EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
    const std::vector<Json> events = events_of(stream.body);
    ASSERT_EQ(events.size(), 12U);
    EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
    std::string streamed;
    for (std::size_t i = 1; i <= 9; ++i) {
        streamed += events[i]["choices"][0]["delta"]["content"];
        EXPECT_EQ(events[i]["id"], std::string(stream.header("X-Request-Id")));
    }
    EXPECT_EQ(streamed, text);
    EXPECT_EQ(events[10]["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(events[11]["usage"]["completion_tokens"], 9);

    EXPECT_EQ(post(server, "/apply-template", "{" + ask + "}").body, dump(Json{{"prompt", prompt}}));
    EXPECT_EQ(post(server, "/chat/completions/input_tokens", "{" + ask + "}").body,
              R"({"input_tokens":21,"object":"response.input_tokens"})");
}

TEST(Routes, SeveralPrompts) {
    test::FakeServer server;
    const std::string ask = R"({"prompt":["a","bc"],"n_predict":5)";
    const Json native = *parse_json(post(server, "/completion", ask + "}").body);
    ASSERT_EQ(native.size(), 2U);
    EXPECT_EQ(native[1]["content"], server.model().detokenize(server.expected_tokens("bc", 5), false));
    const Json oai = *parse_json(post(server, "/v1/completions", ask + "}").body);
    ASSERT_EQ(oai["choices"].size(), 2U);
    EXPECT_EQ(oai["choices"][1]["text"], native[1]["content"]);

    const Response stream = post(server, "/v1/completions", ask + R"(,"stream":true})");
    std::string texts[2];
    for (const Json& event : events_of(stream.body)) {
        texts[event["choices"][0]["index"].get<std::size_t>()] +=
            event["choices"][0]["text"].get<std::string>();
    }
    EXPECT_EQ(texts[0], oai["choices"][0]["text"]);
    EXPECT_EQ(texts[1], oai["choices"][1]["text"]);
}

TEST(Routes, StopStringsProbabilitiesAndProgress) {
    test::FakeServer server;
    const std::string text = server.model().detokenize(server.expected_tokens("hi", 30), false);
    const std::string word = text.substr(10, 3);
    const std::string before = text.substr(0, text.find(word));
    const std::string ask = dump(Json{{"prompt", "hi"}, {"n_predict", 30}, {"stop", word}, {"n_probs", 2}});
    const Json body = *parse_json(post(server, "/completion", ask).body);
    EXPECT_EQ(body["content"], before);
    EXPECT_EQ(body["stop_type"], "word");
    EXPECT_EQ(body["stopping_word"], word);
    ASSERT_EQ(body["completion_probabilities"].size(), before.size()) << "the stop word's are cut";
    EXPECT_EQ(body["completion_probabilities"][0]["top_logprobs"].size(), 2U);

    const Response stream =
        post(server, "/completion", R"({"prompt":"hi","n_predict":2,"stream":true,"return_progress":true})");
    const Json first = events_of(stream.body).at(0);
    EXPECT_EQ(first["prompt_progress"]["total"], 3) << stream.body;
}

TEST(Routes, BadRequests) {
    test::FakeServer server;
    for (const bool stream : {false, true}) {
        const std::string flag = stream ? R"(,"stream":true})" : "}";
        const Response too_long =
            post(server, "/completion", R"({"prompt":")" + std::string(5000, 'a') + "\"" + flag);
        EXPECT_EQ(too_long.status, 400);
        const Json error = (*parse_json(too_long.body))["error"];
        EXPECT_EQ(error["type"], "exceed_context_size_error");
        EXPECT_EQ(error["n_prompt_tokens"], 5001);
        EXPECT_EQ(error["n_ctx"], 512);
        EXPECT_EQ(post(server, "/completion", R"({"prompt":"a","n":5)" + flag).status, 400);
        EXPECT_EQ(post(server, "/completion", R"({"prompt":"a","priority":1000)" + flag).status, 400);
        EXPECT_EQ(post(server, "/v1/chat/completions", R"({"messages":[])" + flag).status, 400);
    }
    EXPECT_EQ(post(server, "/completion", "{").status, 400);
    EXPECT_EQ(post(server, "/completion", "{\"prompt\":\"\xff\"}").status, 400);
    EXPECT_EQ(error_message(post(server, "/completion", R"({"prompt":"a","grammar":"x"})")),
              "Field 'grammar': has no rule root");
    EXPECT_EQ(error_message(post(server, "/completion", R"({"prompt":"a","repeat_penalty":0})")),
              "Failed to initialize samplers: repeat_penalty must be above 0");
    EXPECT_EQ(post(server, "/tokenize", R"({"content":"ab"})").body, R"({"tokens":[97,98]})");
    EXPECT_EQ(post(server, "/detokenize", R"({"tokens":[97,98]})").body, R"({"content":"ab"})");
    EXPECT_EQ(post(server, "/tokenize", "[]").status, 400);
    for (const char* path : {"/embeddings", "/v1/embeddings", "/rerank", "/infill", "/v1/messages",
                             "/v1/responses", "/v1/audio/transcriptions", "/lora-adapters"}) {
        const Response missing = post(server, path, "{}");
        EXPECT_EQ(missing.status, 501) << path;
        EXPECT_NE(error_message(missing).find(path), std::string::npos);
    }
    EXPECT_EQ(get(server, "/lora-adapters").body, "[]");
    EXPECT_EQ(get(server, "/tools").status, 403);
    EXPECT_EQ(post(server, "/props", "{}").status, 501);
}

TEST(Routes, InfoRoutes) {
    Options options;
    options.api.endpoint_metrics = true;
    options.api.aliases = {"fake"};
    options.api.start_time_us = 123;
    test::FakeServer server(std::move(options));
    (void)post(server, "/completion", R"({"prompt":"hi","n_predict":4,"seed":9})");
    const Json slots = *parse_json(get(server, "/slots").body);
    ASSERT_EQ(slots.size(), 4U);
    bool seen = false;
    for (const Json& slot : slots) {
        seen = seen || (slot.contains("params") && slot["params"]["seed"] == 9);
    }
    EXPECT_TRUE(seen);
    EXPECT_EQ(get(server, "/slots?fail_on_no_slot=1").status, 200);
    const Response metrics = get(server, "/metrics");
    EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4");
    EXPECT_EQ(metrics.header("Process-Start-Time-Unix"), "123");
    EXPECT_NE(metrics.body.find("\nllamacpp:tokens_predicted_total 4\n"), std::string::npos);
    EXPECT_EQ((*parse_json(get(server, "/v1/models").body))["data"][0]["id"], "fake");
    EXPECT_EQ((*parse_json(get(server, "/props").body))["default_generation_settings"]["n_ctx"], 512);
    EXPECT_EQ((*parse_json(get(server, "/requests").body))["data"].size(), 0U);
}

TEST(Routes, SwitchedOff) {
    Options options;
    options.api.endpoint_slots = false;
    test::FakeServer server(std::move(options));
    EXPECT_EQ(get(server, "/slots").status, 501);
    EXPECT_EQ(get(server, "/metrics").status, 501);
    EXPECT_EQ(get(server, "/requests").status, 501);
    EXPECT_EQ(post(server, "/requests/x/park", "").status, 501);
    EXPECT_EQ(post(server, "/slots/0?action=park", "").status, 501);
    EXPECT_EQ(post(server, "/slots/0?action=erase", "").status, 501) << "no --slot-save-path";
    EXPECT_EQ(post(server, "/slots/0?action=dance", "").status, 400);
    EXPECT_EQ(post(server, "/slots/x?action=save", "").status, 400);
}

TEST(Routes, SlotFiles) {
    const auto directory =
        std::filesystem::temp_directory_path() / ("kvalet_routes_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    {
        Options options;
        options.api.slot_save_path = directory.string() + "/";
        test::FakeServer server(std::move(options));
        (void)post(server, "/completion", R"({"prompt":"hello","n_predict":4,"id_slot":1})");
        const Response saved = post(server, "/slots/1?action=save", R"({"filename":"a.bin"})");
        EXPECT_EQ(saved.status, 200) << saved.body;
        const Json save = *parse_json(saved.body);
        EXPECT_EQ(save["id_slot"], 1);
        EXPECT_GT(save["n_saved"].get<int>(), 6);
        EXPECT_EQ((*parse_json(post(server, "/slots/1?action=erase", "").body))["n_erased"], save["n_saved"]);
        const Json restored =
            *parse_json(post(server, "/slots/1?action=restore", R"({"filename":"a.bin"})").body);
        EXPECT_EQ(restored["n_restored"], save["n_saved"]);
        EXPECT_EQ(restored["n_read"], save["n_written"]);
        EXPECT_EQ(post(server, "/slots/1?action=restore", R"({"filename":"nothing.bin"})").status, 400);
        EXPECT_EQ(error_message(post(server, "/slots/1?action=save", R"({"filename":"../a"})")),
                  "Invalid filename");
    }
    std::filesystem::remove_all(directory);
}

const char* const kLong = R"({"prompt":"hi","n_predict":6000,"stream":true,"sse_ping_interval":-1})";

TEST(Routes, ParkAndUnparkByRequest) {
    test::FakeServer server(large());
    HeldStream stream(server, kLong);
    const Response parked = post(server, "/requests/" + stream.id + "/park", "");
    ASSERT_EQ(parked.status, 200) << parked.body;
    const Json reply = *parse_json(parked.body);
    EXPECT_EQ(reply["id"], stream.id);
    EXPECT_EQ(reply["is_preempted"], true);
    EXPECT_EQ(reply["preempt_mode"], "swap");
    EXPECT_GT(reply["bytes"].get<std::int64_t>(), 0);
    const Response again = post(server, "/requests/" + stream.id + "/park", "");
    EXPECT_EQ(again.status, 400) << again.body;
    const Json listed = *parse_json(get(server, "/requests").body);
    ASSERT_EQ(listed["data"].size(), 1U);
    EXPECT_EQ(listed["data"][0]["id"], stream.id);
    EXPECT_EQ(listed["n_parked"], 1);
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/priority", R"({"priority":7})").status, 200);
    EXPECT_EQ((*parse_json(get(server, "/requests").body))["data"][0]["priority"], 7);
    EXPECT_EQ(post(server, "/requests/" + stream.id + "/unpark", "").status, 200);
    EXPECT_EQ(post(server, "/requests/nobody/park", "").status, 404);

    const Response rest = [&] {
        std::string all = stream.client.read_until("0\r\n\r\n");
        return Response{200, "", {}, all};
    }();
    EXPECT_NE(rest.body.find(": preempted reason=explicit ahead=0\n\n"), std::string::npos);
    EXPECT_NE(rest.body.find(": resumed\n\n"), std::string::npos);
    std::string streamed;
    std::size_t begin = 0;
    const std::string key = R"("content":")";
    std::size_t n = 0;
    while ((begin = rest.body.find("data: {", begin)) != std::string::npos) {
        const std::size_t end = rest.body.find("\n\n", begin);
        streamed += (*parse_json(rest.body.substr(begin + 6, end - begin - 6)))["content"].get<std::string>();
        begin = end;
        ++n;
    }
    EXPECT_EQ(n, 6001U);
    EXPECT_EQ(streamed, server.model().detokenize(server.expected_tokens("hi", 6000), false));
}

TEST(Routes, AClientThatGoesAwayIsCancelled) {
    test::FakeServer server(large());
    { HeldStream stream(server, kLong); }
    EXPECT_TRUE(comes_to(server, [](const engine::Snapshot& s) {
        return s.counters.n_cancelled_total == 1 && s.n_processing == 0;
    }));
    // Not streamed: nothing is read or written meanwhile, the close itself is what tells.
    TestClient client(server.port());
    client.send(post_text("/completion", R"({"prompt":"hi","n_predict":8000})"));
    EXPECT_TRUE(comes_to(server, [](const engine::Snapshot& s) { return s.counters.n_requests_total == 2; }));
    client.close();
    EXPECT_TRUE(comes_to(server, [](const engine::Snapshot& s) {
        return s.n_processing == 0 && s.counters.n_cancelled_total + s.counters.n_finished_total == 2;
    }));
}

TEST(Routes, AFullQueueIs429) {
    Options options = large();
    options.backend.n_slots = 1;
    options.backend.unified = false;
    options.engine.queue_max = 1;
    test::FakeServer server(std::move(options));
    HeldStream running(server, kLong);
    TestClient waiting(server.port());
    waiting.send(post_text("/completion", R"({"prompt":"hi","n_predict":1})"));
    ASSERT_TRUE(comes_to(server, [](const engine::Snapshot& s) { return s.n_deferred == 1; }));
    const Response refused = post(server, "/completion", R"({"prompt":"hi","stream":true})");
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_NE(refused.header("Retry-After"), "");
    EXPECT_EQ((*parse_json(refused.body))["error"]["type"], "rate_limit_error");
    EXPECT_EQ(get(server, "/slots?fail_on_no_slot=1").status, 503);
    running.client.close();
    EXPECT_EQ(waiting.read_response().status, 200);
}

TEST(Routes, Draining) {
    test::FakeServer server(large());
    HeldStream running(server, kLong);
    server.routes().set_draining();
    server.engine().drain();
    EXPECT_EQ(get(server, "/health").status, 503);
    EXPECT_EQ(post(server, "/completion", R"({"prompt":"hi"})").status, 503);
    const std::string rest = running.client.read_until("0\r\n\r\n");
    EXPECT_NE(rest.find(R"("stop_type":"limit")"), std::string::npos) << "what runs finishes";
}

TEST(Routes, StoppingEndsStreamsWithAnErrorEvent) {
    auto server = std::make_unique<test::FakeServer>(large());
    HeldStream running(*server, kLong);
    server->engine().stop();
    const std::string rest = running.client.read_until("0\r\n\r\n");
    EXPECT_NE(rest.find(R"(data: {"error":{"code":503)"), std::string::npos);
}

}  // namespace
}  // namespace kvalet::api
