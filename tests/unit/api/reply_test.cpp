// Golden replies: every key and its place.
#include "api/reply.h"

#include <gtest/gtest.h>

#include "api/collector.h"
#include "api_test_model.h"

namespace kvalet::api {
namespace {

const char* const kTimings =
    R"({"cache_n":1,"prompt_n":2,"prompt_ms":4.0,"prompt_per_token_ms":2.0,"prompt_per_second":500.0,)"
    R"("predicted_n":5,"predicted_ms":8.0,"predicted_per_token_ms":2.0,"predicted_per_second":500.0})";
const char* const kUsage =
    R"({"completion_tokens":5,"prompt_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":1}})";

TaskResult result_of(std::string content, int index = 0) {
    TaskResult result;
    result.index = index;
    result.content = std::move(content);
    result.end = finished();
    return result;
}

text::TokenProbs probs() {
    text::TokenProbs entry;
    entry.chosen = {104, "h", -0.5F};
    entry.top = {{104, "h", -0.5F}, {195, "\xc3", -1.5F}};
    return entry;
}

const char* const kProbs =
    R"([{"id":104,"token":"h","bytes":[104],"logprob":-0.5,"top_logprobs":[)"
    R"({"id":104,"token":"h","bytes":[104],"logprob":-0.5},{"id":195,"token":"","bytes":[195],"logprob":-1.5}]}])";

/// The text with the long settings replaced by "…".
std::string short_settings(std::string text) {
    const std::string key = R"("generation_settings":)";
    const std::size_t begin = text.find(key) + key.size();
    const std::size_t end = text.find(R"(,"prompt":)");
    return text.replace(begin, end - begin, "…");
}

TEST(Timings, AreFiniteWhenNothingIsKnown) {
    EXPECT_EQ(
        dump(timings_json({})),
        R"({"cache_n":0,"prompt_n":0,"prompt_ms":0.0,"prompt_per_token_ms":0.0,"prompt_per_second":0.0,)"
        R"("predicted_n":0,"predicted_ms":0.0,"predicted_per_token_ms":0.0,"predicted_per_second":0.0})");
    EXPECT_EQ(dump(timings_json(finished().timings)), kTimings);
}

TEST(Native, Final) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":"hi"})", Dialect::native);
    TaskResult result = result_of("hello");
    result.tokens = {104, 105};
    result.end.has_new_line = true;
    result.end.truncated = true;
    EXPECT_EQ(
        short_settings(whole_body(context, {&result, 1})),
        std::string(
            R"({"index":0,"content":"hello","tokens":[104,105],"id_slot":2,"stop":true,"model":"alpha",)") +
            R"("tokens_predicted":5,"tokens_evaluated":3,"generation_settings":…,"prompt":"<s>hi",)" +
            R"("has_new_line":true,"truncated":true,"stop_type":"limit","stopping_word":"","tokens_cached":7,)" +
            R"("timings":)" + kTimings + "}");
    result.probs = {probs()};
    result.end.stop = text::StopType::word;
    result.end.stopping_word = "END";
    const std::string text = whole_body(context, {&result, 1});
    EXPECT_NE(text.find(R"("stop_type":"word","stopping_word":"END")"), std::string::npos);
    EXPECT_NE(text.find(std::string(R"("completion_probabilities":)") + kProbs + "}"), std::string::npos)
        << text;
}

TEST(Native, SeveralPromptsAreAnArray) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":["a","b"]})", Dialect::native);
    const TaskResult results[] = {result_of("x"), result_of("y", 1)};
    const Json body = *parse_json(whole_body(context, results));
    ASSERT_TRUE(body.is_array());
    EXPECT_EQ(body[1]["index"], 1);
    EXPECT_EQ(body[1]["content"], "y");
    EXPECT_EQ(body[1]["prompt"], "<s>b");
}

TEST(Native, SeveralGenerationsShareAPromptButNotASeed) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":["a","b"],"n":2,"seed":5})", Dialect::native);
    const TaskResult results[] = {result_of("w"), result_of("x", 1), result_of("y", 2), result_of("z", 3)};
    const Json body = *parse_json(whole_body(context, results));
    const char* const prompts[] = {"<s>a", "<s>a", "<s>b", "<s>b"};
    ASSERT_EQ(body.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(body[i]["index"], i);
        EXPECT_EQ(body[i]["prompt"], prompts[i]);
        EXPECT_EQ(body[i]["generation_settings"]["seed"], 5 + i % 2);
    }
}

TEST(Native, ResponseFields) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(
        R"({"prompt":"a","response_fields":["content","generation_settings/n_predict","nothing","content/x","timings/prompt_n"]})",
        Dialect::native);
    const TaskResult result = result_of("x");
    EXPECT_EQ(whole_body(context, {&result, 1}),
              R"({"content":"x","generation_settings/n_predict":-1,"timings/prompt_n":2})");
}

TEST(Native, TokenEvents) {
    const Fixture fixture;
    ReplyContext context = fixture.reply_to(R"({"prompt":"a","stream":true})", Dialect::native);
    engine::TokenOut token = token_out("h", 5, 104);
    const std::string plain =
        R"({"index":1,"content":"h","tokens":[104],"stop":false,"id_slot":-1,"tokens_predicted":5,"tokens_evaluated":3)";
    EXPECT_EQ(dump(native_token(context, 1, token)), plain + "}");
    context.params.timings_per_token = true;
    token.piece.probs = {probs()};
    EXPECT_EQ(dump(native_token(context, 1, token)),
              plain + R"(,"timings":)" + kTimings + R"(,"completion_probabilities":)" + kProbs + "}");
    EXPECT_EQ(dump(native_progress(context, 0, {Tokens{10}, Tokens{2}, Tokens{6}, 7.9})),
              R"({"index":0,"content":"","tokens":[],"stop":false,"id_slot":-1,"tokens_predicted":0,)"
              R"("tokens_evaluated":10,"prompt_progress":{"total":10,"cache":2,"processed":6,"time_ms":7}})");
}

TEST(Native, InvalidUtf8IsReplaced) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":"a"})", Dialect::native);
    EXPECT_NE(dump(native_token(context, 0, token_out("\xff", 1))).find("\xef\xbf\xbd"), std::string::npos);
}

TEST(Probs, PostSampling) {
    text::TokenProbs entry;
    entry.chosen = {104, "h", 0.75F};
    entry.top = {{104, "h", 0.75F}, {105, "i", 0.0F}};
    EXPECT_EQ(dump(probs_json({&entry, 1}, true)),
              R"([{"id":104,"token":"h","bytes":[104],"prob":0.75,"top_probs":[)"
              R"({"id":104,"token":"h","bytes":[104],"prob":0.75}]}])");
}

TEST(OaiCompletion, Replies) {
    const Fixture fixture;
    ReplyContext context = fixture.reply_to(R"({"prompt":"a"})", Dialect::oai_completion);
    TaskResult result = result_of("hello");
    const std::string facts = R"("created":1700000000,"model":"alpha","system_fingerprint":"b7-abc",)";
    EXPECT_EQ(whole_body(context, {&result, 1}),
              R"({"choices":[{"text":"hello","index":0,"logprobs":null,"finish_reason":"length"}],)" + facts +
                  R"("object":"text_completion","usage":)" + kUsage + R"(,"id":"chatcmpl-1","timings":)" +
                  kTimings + "}");
    result.probs = {probs()};
    result.end.stop = text::StopType::eos;
    EXPECT_NE(whole_body(context, {&result, 1})
                  .find(std::string(R"("logprobs":{"content":)") + kProbs + R"(},"finish_reason":"stop")"),
              std::string::npos);

    EXPECT_EQ(dump(oai_token(context, 0, token_out("h", 1))),
              R"({"choices":[{"text":"h","index":0,"logprobs":null,"finish_reason":null}],)" + facts +
                  R"("object":"text_completion","id":"chatcmpl-1"})");
    context.params.verbose = true;
    EXPECT_TRUE(oai_token(context, 0, token_out("h", 1)).contains("__verbose"));
    EXPECT_TRUE(oai_final(context, result).contains("__verbose"));
}

TEST(OaiCompletion, SeveralPromptsAreChoicesOfOneObject) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":["a","b"]})", Dialect::oai_completion);
    const TaskResult results[] = {result_of("x"), result_of("y", 1)};
    const Json body = *parse_json(whole_body(context, results));
    ASSERT_EQ(body["choices"].size(), 2U);
    EXPECT_EQ(body["choices"][1]["text"], "y");
    EXPECT_EQ(body["choices"][1]["index"], 1);
    EXPECT_EQ(
        dump(body["usage"]),
        R"({"completion_tokens":10,"prompt_tokens":6,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":2}})");
}

TEST(OaiChat, SeveralGenerationsAreChoicesOfTheFirstObject) {
    const Fixture fixture;
    for (const Dialect dialect : {Dialect::oai_chat, Dialect::oai_completion}) {
        const ReplyContext context =
            fixture.reply_to(R"({"n":3,"prompt":"a","messages":[{"role":"user","content":"a"}]})", dialect);
        const TaskResult results[] = {result_of("x"), result_of("y", 1), result_of("z", 2)};
        const Json body = *parse_json(whole_body(context, results));
        ASSERT_EQ(body["choices"].size(), 3U);
        for (std::size_t i = 0; i < 3; ++i) {
            const Json& choice = body["choices"][i];
            EXPECT_EQ(choice["index"], i);
            EXPECT_EQ(choice.contains("text") ? choice["text"] : choice["message"]["content"],
                      results[i].content);
        }
        EXPECT_EQ(dump(body["usage"]), kUsage) << "the first one's, as llama-server has it";
    }
}

TEST(OaiCompletion, UsageIsSummedOverPromptsOnly) {
    const Fixture fixture;
    const ReplyContext context = fixture.reply_to(R"({"prompt":["a","b"],"n":2})", Dialect::oai_completion);
    const TaskResult results[] = {result_of("w"), result_of("x", 1), result_of("y", 2), result_of("z", 3)};
    const Json body = *parse_json(whole_body(context, results));
    EXPECT_EQ(body["choices"].size(), 4U);
    EXPECT_EQ(body["usage"]["completion_tokens"], 10);
    EXPECT_EQ(body["usage"]["prompt_tokens"], 6);
}

TEST(OaiChat, Reply) {
    const Fixture fixture;
    ReplyContext context =
        fixture.reply_to(R"({"messages":[{"role":"user","content":"a"}]})", Dialect::oai_chat);
    TaskResult result = result_of("hello");
    result.end.stop = text::StopType::eos;
    EXPECT_EQ(
        whole_body(context, {&result, 1}),
        std::string(R"({"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant",)") +
            R"("content":"hello"}}],"created":1700000000,"model":"alpha","system_fingerprint":"b7-abc",)" +
            R"("object":"chat.completion","usage":)" + kUsage + R"(,"id":"chatcmpl-1","timings":)" +
            kTimings + "}");
    result.probs = {probs()};
    EXPECT_NE(whole_body(context, {&result, 1})
                  .find(std::string(R"("content":"hello"},"logprobs":{"content":)") + kProbs + "}}]"),
              std::string::npos);
    context.params.verbose = true;
    EXPECT_TRUE(chat_final(context, result).contains("__verbose"));
}

TEST(OaiChat, StreamedEnd) {
    const Fixture fixture;
    ReplyContext context =
        fixture.reply_to(R"({"messages":[{"role":"user","content":"a"}],"stream":true})", Dialect::oai_chat);
    const std::string facts =
        R"("created":1700000000,"id":"chatcmpl-1","model":"alpha","system_fingerprint":"b7-abc","object":"chat.completion.chunk")";
    const auto plain = chat_stream_final(context, result_of(""));
    ASSERT_EQ(plain.size(), 1U);
    EXPECT_EQ(dump(plain[0]), R"({"choices":[{"finish_reason":"length","index":0,"delta":{}}],)" + facts +
                                  R"(,"timings":)" + kTimings + "}");
    context.params.include_usage = true;
    const auto with_usage = chat_stream_final(context, result_of(""));
    ASSERT_EQ(with_usage.size(), 2U);
    EXPECT_FALSE(with_usage[0].contains("timings"));
    EXPECT_EQ(dump(with_usage[1]),
              R"({"choices":[],)" + facts + R"(,"usage":)" + kUsage + R"(,"timings":)" + kTimings + "}");
}

TEST(Collector, GathersTextTokensAndProbs) {
    const test::FakeTextModel model;
    Collector collector(3, true);
    collector.take(engine::Started{});
    for (int i = 0; i < 4; ++i) {
        engine::TokenOut token = token_out(std::string(1, static_cast<char>('a' + i)), i + 1, 97 + i);
        token.piece.probs = {probs()};
        collector.take(token);
    }
    collector.take(engine::ParkedNotice{});
    collector.take(engine::ResumedNotice{});
    EXPECT_FALSE(collector.done());
    engine::Finished end = finished(text::StopType::word);
    end.stopping_word = "xy";
    collector.take(end);
    ASSERT_TRUE(collector.done());
    EXPECT_FALSE(collector.error());
    const TaskResult result = std::move(collector).finish(model);
    EXPECT_EQ(result.index, 3);
    EXPECT_EQ(result.content, "abcd");
    EXPECT_EQ(result.tokens, (std::vector<Token>{97, 98, 99, 100}));
    EXPECT_EQ(result.probs.size(), 2U) << "those of the stop word are cut";
}

TEST(Collector, MemoryIsBounded) {
    Collector collector(0, false, 1000);
    engine::TokenOut token = token_out("a", 1);
    token.piece.probs = {probs()};
    for (int i = 0; i < 100 && !collector.done(); ++i) {
        collector.take(token);
    }
    ASSERT_TRUE(collector.done());
    EXPECT_EQ(collector.error()->kind, ErrorKind::server);
    EXPECT_NE(collector.error()->message.find("1000 bytes"), std::string::npos);
}

TEST(Collector, Failure) {
    Collector collector(0, false);
    collector.take(token_out("a", 1));
    collector.take(engine::Failed{make_error(ErrorKind::unavailable, "bye")});
    ASSERT_TRUE(collector.done());
    EXPECT_EQ(collector.error()->message, "bye");
}

}  // namespace
}  // namespace kvalet::api
