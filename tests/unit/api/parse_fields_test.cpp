// Every field of llama-server-api 1.5: what is taken, what is clamped, what is refused and with which words.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "api_test_model.h"

namespace kvalet::api {
namespace {

class ParseFields : public testing::Test {
  protected:
    Fixture fixture;

    TaskParams good(const std::string& fields, Dialect dialect = Dialect::native) {
        const Result<CompletionJob> job = parse(fields, dialect);
        EXPECT_TRUE(job.ok()) << fields << ": " << (job.ok() ? "" : job.error().message);
        return job.ok() ? job->params : TaskParams{};
    }
    Error bad(const std::string& fields, Dialect dialect = Dialect::native) {
        const Result<CompletionJob> job = parse(fields, dialect);
        EXPECT_FALSE(job.ok()) << fields;
        return job.ok() ? Error{} : job.error();
    }

  private:
    Result<CompletionJob> parse(const std::string& fields, Dialect dialect) {
        const std::string prompt = dialect == Dialect::oai_chat
                                       ? R"("messages":[{"role":"user","content":"hi"}])"
                                       : R"("prompt":"hi")";
        return fixture.parse("{" + prompt + (fields.empty() ? "" : ",") + fields + "}", dialect);
    }
};

struct FloatField {
    const char* name;
    std::function<float(const text::SamplingParams&)> get;
    double given;
    float want;
};

TEST_F(ParseFields, NumbersAreTakenAndClamped) {
    using S = text::SamplingParams;
    const FloatField table[] = {
        {"temperature", [](const S& s) { return s.temperature; }, 0.3, 0.3F},
        {"temperature", [](const S& s) { return s.temperature; }, -2, 0.0F},
        {"temperature", [](const S& s) { return s.temperature; }, 1e300, std::numeric_limits<float>::max()},
        {"dynatemp_range", [](const S& s) { return s.dynatemp_range; }, 0.5, 0.5F},
        {"dynatemp_exponent", [](const S& s) { return s.dynatemp_exponent; }, 2, 2.0F},
        {"top_p", [](const S& s) { return s.top_p; }, 0.5, 0.5F},
        {"top_p", [](const S& s) { return s.top_p; }, 1.5, 1.0F},
        {"top_p", [](const S& s) { return s.top_p; }, -1, 0.0F},
        {"min_p", [](const S& s) { return s.min_p; }, 7, 1.0F},
        {"typical_p", [](const S& s) { return s.typical_p; }, 0.7, 0.7F},
        {"top_n_sigma", [](const S& s) { return s.top_n_sigma; }, 1.5, 1.5F},
        {"xtc_probability", [](const S& s) { return s.xtc_probability; }, 2, 1.0F},
        {"xtc_threshold", [](const S& s) { return s.xtc_threshold; }, 0.2, 0.2F},
        {"repeat_penalty", [](const S& s) { return s.repeat_penalty; }, 1.1, 1.1F},
        {"frequency_penalty", [](const S& s) { return s.frequency_penalty; }, -0.5, -0.5F},
        {"presence_penalty", [](const S& s) { return s.presence_penalty; }, 0.25, 0.25F},
        {"dry_multiplier", [](const S& s) { return s.dry_multiplier; }, 0.8, 0.8F},
        {"dry_base", [](const S& s) { return s.dry_base; }, 2.5, 2.5F},
        {"dry_base", [](const S& s) { return s.dry_base; }, 0.5, 1.75F},
        {"mirostat_tau", [](const S& s) { return s.mirostat_tau; }, 4, 4.0F},
        {"mirostat_eta", [](const S& s) { return s.mirostat_eta; }, 0.2, 0.2F},
        {"adaptive_target", [](const S& s) { return s.adaptive_target; }, 3, 1.0F},
        {"adaptive_decay", [](const S& s) { return s.adaptive_decay; }, 0.5, 0.5F},
    };
    for (const FloatField& field : table) {
        const std::string text = '"' + std::string(field.name) + "\":" + dump(Json(field.given));
        EXPECT_FLOAT_EQ(field.get(good(text).sampling), field.want) << text;
        const std::string wrong = '"' + std::string(field.name) + "\":\"1\"";
        const Error error = bad(wrong);
        EXPECT_EQ(error.message,
                  "Field '" + std::string(field.name) + "': must be a number, but is a string");
        EXPECT_EQ(error.kind, ErrorKind::invalid_request);
    }
}

struct IntField {
    const char* name;
    std::function<std::int64_t(const TaskParams&)> get;
    std::int64_t given;
    std::int64_t want;
};

TEST_F(ParseFields, IntegersAreTakenAndClamped) {
    using P = TaskParams;
    const IntField table[] = {
        {"n_predict", [](const P& p) { return p.stop.n_predict; }, 12, 12},
        {"n_predict", [](const P& p) { return p.stop.n_predict; }, -1, -1},
        {"max_tokens", [](const P& p) { return p.stop.n_predict; }, 13, 13},
        {"max_completion_tokens", [](const P& p) { return p.stop.n_predict; }, 14, 14},
        {"n_keep", [](const P& p) { return p.n_keep; }, -1, -1},
        {"n_discard", [](const P& p) { return p.n_discard; }, 5, 5},
        {"n_indent", [](const P& p) { return p.stop.n_indent; }, 4, 4},
        {"t_max_predict_ms", [](const P& p) { return p.stop.t_max_predict_ms; }, 5000000000, 5000000000},
        {"id_slot", [](const P& p) { return std::int64_t{p.slot.value()}; }, 9, 9},
        {"id_slot", [](const P& p) { return std::int64_t{p.slot.value()}; }, -1, -1},
        {"top_k", [](const P& p) { return std::int64_t{p.sampling.top_k}; }, -5, 0},
        {"top_k", [](const P& p) { return std::int64_t{p.sampling.top_k}; }, 5000000000, 2147483647},
        {"mirostat", [](const P& p) { return std::int64_t{p.sampling.mirostat}; }, 9, 2},
        {"min_keep", [](const P& p) { return std::int64_t{p.sampling.min_keep}; }, 3, 3},
        {"repeat_last_n", [](const P& p) { return std::int64_t{p.sampling.repeat_last_n}; }, 0, 0},
        {"dry_allowed_length", [](const P& p) { return std::int64_t{p.sampling.dry_allowed_length}; }, 7, 7},
        {"dry_penalty_last_n", [](const P& p) { return std::int64_t{p.sampling.dry_penalty_last_n}; }, 8, 8},
        {"n_probs", [](const P& p) { return std::int64_t{p.sampling.n_probs}; }, 5, 5},
        {"n_probs", [](const P& p) { return std::int64_t{p.sampling.n_probs}; }, 1000, 260},
        {"logprobs", [](const P& p) { return std::int64_t{p.sampling.n_probs}; }, 4, 4},
        {"sse_ping_interval", [](const P& p) { return std::int64_t{p.sse_ping_interval_s}; }, -1, -1},
        {"priority", [](const P& p) { return std::int64_t{p.priority}; }, -7, -7},
        {"priority", [](const P& p) { return std::int64_t{p.priority}; }, 100, 100},
        {"seed", [](const P& p) { return std::int64_t{p.sampling.seed}; }, 42, 42},
        {"seed", [](const P& p) { return std::int64_t{p.sampling.seed}; }, -1, 4294967295},
        {"seed", [](const P& p) { return std::int64_t{p.sampling.seed}; }, 4294967297, 1},
    };
    for (const IntField& field : table) {
        const std::string text = '"' + std::string(field.name) + "\":" + std::to_string(field.given);
        EXPECT_EQ(field.get(good(text)), field.want) << text;
        EXPECT_EQ(field.get(good(text + ".0")), field.want) << "an integer may be written as a number";
        for (const char* wrong : {"\"1\"", "1.5", "[1]", "{}"}) {
            const Error error = bad('"' + std::string(field.name) + "\":" + wrong);
            EXPECT_EQ(error.message.find("Field '" + std::string(field.name) + "': must be an integer"), 0U)
                << error.message;
        }
    }
}

TEST_F(ParseFields, HardLimitsAndOverflow) {
    for (const char* text : {R"("n_predict":-2)",
                             R"("n_predict":5000000000)",
                             R"("n_keep":-2)",
                             R"("n_discard":-1)",
                             R"("n_indent":-1)",
                             R"("t_max_predict_ms":-2)",
                             R"("min_keep":-1)",
                             R"("repeat_last_n":-1)",
                             R"("dry_allowed_length":-1)",
                             R"("dry_penalty_last_n":-1)",
                             R"("n_probs":-1)",
                             R"("n_probs":1025)",
                             R"("sse_ping_interval":-2)",
                             R"("adaptive_decay":0.995)",
                             R"("priority":101)",
                             R"("n":0)",
                             R"("n_cmpl":5)",
                             R"("id_slot":3000000000)",
                             R"("n_predict":18446744073709551615)",
                             R"("seed":1e30)",
                             R"("seed":99999999999999999999)"}) {
        const Error error = bad(text);
        EXPECT_EQ(error.kind, ErrorKind::invalid_request) << text;
        const std::string name = std::string(text).substr(1, std::string(text).find(':') - 2);
        EXPECT_EQ(error.message.find("Field '" + name + "': "), 0U) << error.message;
    }
    EXPECT_EQ(bad(R"("priority":101)").message,
              "Field 'priority': must be between -2147483648 and 100, but is 101");
}

TEST_F(ParseFields, SeveralGenerations) {
    EXPECT_EQ(good("").n_cmpl, 1);
    EXPECT_EQ(good(R"("n":null)").n_cmpl, 1);
    EXPECT_EQ(good(R"("n":2)").n_cmpl, 2);
    EXPECT_EQ(good(R"("n":2,"n_cmpl":4)").n_cmpl, 4);
    EXPECT_EQ(bad(R"("n":5)").message, "Field 'n': must be between 1 and 4, but is 5");
    EXPECT_EQ(bad(R"("n":"2")").message, "Field 'n': must be an integer, but is a string");
}

TEST_F(ParseFields, TheSeedsOfSeveralGenerations) {
    TaskParams p = good(R"("n":3,"seed":7)");
    for (int index = 0; index < 6; ++index) {  // two prompts
        EXPECT_EQ(seed_of(p, index), 7U + static_cast<unsigned>(index % 3));
    }
    p = good(R"("n":3)");
    EXPECT_EQ(seed_of(p, 2), text::kRandomSeed) << "each draws its own";
    p = good(R"("n":3,"seed":4294967294)");
    EXPECT_EQ(seed_of(p, 0), 4294967294U);
    EXPECT_EQ(seed_of(p, 1), 0U) << "4294967295 would mean random";
    EXPECT_EQ(seed_of(p, 2), 1U);
}

TEST_F(ParseFields, Booleans) {
    const TaskParams p = good(
        R"("stream":true,"verbose":true,"timings_per_token":true,"return_tokens":true,"return_progress":true,
           "cache_prompt":false,"post_sampling_probs":true,"ignore_eos":true,"stream_options":{"include_usage":true})");
    EXPECT_TRUE(p.stream && p.verbose && p.timings_per_token && p.return_tokens && p.return_progress);
    EXPECT_TRUE(!p.cache_prompt && p.sampling.post_sampling_probs && p.sampling.ignore_eos &&
                p.include_usage);
    for (const char* name : {"stream", "verbose", "timings_per_token", "return_tokens", "return_progress",
                             "cache_prompt", "post_sampling_probs", "ignore_eos"}) {
        EXPECT_EQ(bad('"' + std::string(name) + "\":1").message,
                  "Field '" + std::string(name) + "': must be a boolean, but is an integer");
    }
    EXPECT_EQ(bad(R"("stream_options":{"include_usage":"yes"})").message,
              "Field 'stream_options.include_usage': must be a boolean, but is a string");
    EXPECT_EQ(bad(R"("stream_options":true)").message, "Field 'stream_options': must be an object");
}

TEST_F(ParseFields, NullIsAbsentAndTheFirstNameWins) {
    fixture.config.defaults.stop.n_predict = 77;
    EXPECT_EQ(good(R"("n_predict":null,"temperature":null,"stop":null,"priority":null)").stop.n_predict, 77);
    EXPECT_EQ(good(R"("max_tokens":1,"max_completion_tokens":2,"n_predict":3)").stop.n_predict, 3);
    EXPECT_EQ(good(R"("max_tokens":1,"max_completion_tokens":2)").stop.n_predict, 2);
    EXPECT_EQ(good(R"("n_predict":null,"max_tokens":1)").stop.n_predict, 1);
    EXPECT_EQ(good(R"("user":"me","unknown_field":{"a":1},"model":"other")").stop.n_predict, 77);
}

TEST_F(ParseFields, Stop) {
    fixture.config.defaults.stop.stop = {"cli"};
    EXPECT_EQ(good("").stop.stop, std::vector<std::string>{"cli"});
    EXPECT_EQ(good(R"("stop":"a")").stop.stop, std::vector<std::string>{"a"});
    EXPECT_EQ(good(R"("stop":["a","","b"])").stop.stop, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(good(R"("stop":[""])").stop.stop, std::vector<std::string>{"cli"});
    EXPECT_EQ(good(R"("stop":[])").stop.stop, std::vector<std::string>{"cli"});
    EXPECT_EQ(bad(R"("stop":[1])").message, "Field 'stop': must be an array of strings");
    EXPECT_EQ(bad(R"("stop":7)").message, "Field 'stop': must be an array of strings");
}

TEST_F(ParseFields, Samplers) {
    const std::vector<std::string> want = {"top_k", "typ_p", "top_p", "min_p", "temperature"};
    EXPECT_EQ(good(R"("samplers":["top_k","TYP-P","nucleus","minp","temp"])").sampling.samplers, want);
    EXPECT_EQ(good(R"("samplers":"kypmt")").sampling.samplers, want);
    EXPECT_EQ(good(R"("samplers":"edskypmxt")").sampling.samplers, text::SamplingParams{}.samplers);
    EXPECT_TRUE(good(R"("samplers":[])").sampling.samplers.empty());
    EXPECT_EQ(bad(R"("samplers":["magic"])").message, "Field 'samplers': there is no sampler \"magic\"");
    EXPECT_EQ(bad(R"("samplers":"kz")").message, "Field 'samplers': no sampler has the letter 'z'");
    EXPECT_EQ(bad(R"("samplers":[3])").message, "Field 'samplers': there is no sampler 3");
    EXPECT_EQ(bad(R"("samplers":{})").message,
              "Field 'samplers': must be an array of names or a string of letters");
}

TEST_F(ParseFields, DrySequenceBreakers) {
    EXPECT_EQ(good(R"("dry_sequence_breakers":["x"])").sampling.dry_sequence_breakers,
              std::vector<std::string>{"x"});
    EXPECT_EQ(bad(R"("dry_sequence_breakers":[])").message,
              "Field 'dry_sequence_breakers': must be a non-empty array of strings");
    EXPECT_EQ(bad(R"("dry_sequence_breakers":"x")").message,
              "Field 'dry_sequence_breakers': must be an array of strings");
}

TEST_F(ParseFields, LogitBias) {
    const auto pairs = good(R"("logit_bias":[[5,1.5],["ab",-2],[7,false]])").sampling.logit_bias;
    ASSERT_EQ(pairs.size(), 4U);
    EXPECT_EQ(pairs[0].token, 5);
    EXPECT_FLOAT_EQ(pairs[0].bias, 1.5F);
    EXPECT_EQ(pairs[1].token, 'a');
    EXPECT_EQ(pairs[2].token, 'b');
    EXPECT_FLOAT_EQ(pairs[2].bias, -2.0F);
    EXPECT_EQ(pairs[3].token, 7);
    EXPECT_TRUE(std::isinf(pairs[3].bias) && pairs[3].bias < 0);

    const auto object = good(R"("logit_bias":{"5":1,"x":false})").sampling.logit_bias;
    ASSERT_EQ(object.size(), 2U);
    EXPECT_EQ(object[0].token, 5);
    EXPECT_EQ(object[1].token, 'x');

    EXPECT_EQ(bad(R"("logit_bias":[[260,1]])").message,
              "Field 'logit_bias': token 260 is outside the vocabulary");
    EXPECT_EQ(bad(R"("logit_bias":{"-1":1})").message,
              "Field 'logit_bias': token -1 is outside the vocabulary");
    EXPECT_EQ(bad(R"("logit_bias":[[1]])").message,
              "Field 'logit_bias': each entry must be a pair of token and bias");
    EXPECT_EQ(bad(R"("logit_bias":[[1,true]])").message,
              "Field 'logit_bias': a bias must be a number or false");
    EXPECT_EQ(bad(R"("logit_bias":[[1.5,1]])").message,
              "Field 'logit_bias': a token must be an integer or a string");
    EXPECT_EQ(bad(R"("logit_bias":3)").message, "Field 'logit_bias': must be an array of pairs or an object");
}

TEST_F(ParseFields, NoticesAndFormats) {
    EXPECT_EQ(good("").sse_notices, SseNotices::comments);
    EXPECT_EQ(good(R"("sse_notices":"data")").sse_notices, SseNotices::data);
    EXPECT_EQ(good(R"("sse_notices":"off")").sse_notices, SseNotices::off);
    EXPECT_EQ(bad(R"("sse_notices":"loud")").message,
              "Field 'sse_notices': must be \"comments\", \"data\" or \"off\"");
    EXPECT_EQ(good(R"("response_fields":["content","a/b"])").response_fields.size(), 2U);
    EXPECT_EQ(bad(R"("response_fields":"content")").message,
              "Field 'response_fields': must be an array of strings");
    EXPECT_EQ(good(R"("grammar":"root ::= \"a\"")").sampling.grammar, "root ::= \"a\"");
    EXPECT_EQ(bad(R"("grammar":{})").message, "Field 'grammar': must be a string, but is an object");
}

TEST_F(ParseFields, ListsAreLimited) {
    const auto list = [](const std::string& element, std::size_t n) {
        std::string text = "[" + element;
        for (std::size_t i = 1; i < n; ++i) {
            text += "," + element;
        }
        return text + "]";
    };
    EXPECT_EQ(good("\"logit_bias\":" + list("[\"ab\",1]", 100)).sampling.logit_bias.size(), 200U);
    EXPECT_EQ(bad("\"logit_bias\":" + list("[\"ab\",1]", kMaxLogitBias / 2 + 1)).message,
              "Field 'logit_bias': at most 65536 tokens");
    EXPECT_EQ(bad("\"samplers\":\"" + std::string(kMaxSamplers + 1, 'k') + "\"").message,
              "Field 'samplers': at most 64 samplers");
    EXPECT_EQ(bad("\"response_fields\":" + list("\"a\"", kMaxResponseFields + 1)).message,
              "Field 'response_fields': at most 256 paths");
}

TEST_F(ParseFields, WhatIsNotThereYetIsRefused) {
    for (const char* text : {R"("json_schema":{})",
                             R"("lora":[{"id":0,"scale":1}])",
                             R"("backend_sampling":true)",
                             R"("grammar_lazy":true)",
                             R"("grammar_triggers":["x"])",
                             R"("preserved_tokens":["x"])",
                             R"("chat_format":1)",
                             R"("chat_parser":"x")",
                             R"("generation_prompt":"x")",
                             R"("parse_tool_calls":true)",
                             R"("reasoning_control":true)",
                             R"("reasoning_budget_tokens":5)",
                             R"("thinking_budget_tokens":0)",
                             R"("reasoning_budget_message":"x")",
                             R"("n_cache_reuse":64)",
                             R"("return_exactness":true)",
                             R"("suffix":"x")",
                             R"("echo":true)",
                             R"("best_of":2)",
                             R"("reasoning_format":"deepseek")",
                             R"("multimodal_data":["x"])"}) {
        const Error error = bad(text);
        EXPECT_EQ(error.kind, ErrorKind::not_supported) << text;
        const std::string name = std::string(text).substr(1, std::string(text).find(':') - 2);
        EXPECT_EQ(error.message.find("Field '" + name + "': "), 0U) << error.message;
    }
}

TEST_F(ParseFields, HarmlessValuesOfWhatIsNotThereYetAreTaken) {
    good(R"("n":1,"n_cmpl":1,"json_schema":null,"lora":[],"backend_sampling":false,"grammar_lazy":false,
            "grammar_triggers":[],"preserved_tokens":[],"chat_format":0,"chat_parser":"","generation_prompt":"",
            "reasoning_budget_tokens":-1,"n_cache_reuse":0,"suffix":null,"echo":false,"best_of":1,
            "reasoning_format":"auto")");
}

TEST_F(ParseFields, ChatOnly) {
    EXPECT_EQ(good(R"("logprobs":true)", Dialect::oai_chat).sampling.n_probs, 20);
    EXPECT_EQ(good(R"("logprobs":true,"top_logprobs":3)", Dialect::oai_chat).sampling.n_probs, 3);
    EXPECT_EQ(good(R"("logprobs":false,"n_probs":2)", Dialect::oai_chat).sampling.n_probs, 2);
    EXPECT_EQ(bad(R"("top_logprobs":3)", Dialect::oai_chat).message,
              "Field 'top_logprobs': needs logprobs to be true");
    good(R"("tools":[],"response_format":{"type":"text"},"reasoning_effort":"none")", Dialect::oai_chat);
    good(R"("tools":[{"type":"function"}],"tool_choice":"none")", Dialect::oai_chat);
    for (const char* text :
         {R"("tools":[{"type":"function"}])", R"("tool_choice":"required")",
          R"("tool_choice":{"type":"function"})", R"("response_format":{"type":"json_object"})",
          R"("response_format":{"type":"json_schema"})", R"("functions":[{}])",
          R"("chat_template_kwargs":{"a":1})", R"("reasoning_effort":"high")",
          R"("continue_final_message":"reasoning_content")"}) {
        EXPECT_EQ(bad(text, Dialect::oai_chat).kind, ErrorKind::not_supported) << text;
    }
    for (const char* text : {R"("tool_choice":"maybe")", R"("response_format":{"type":"xml"})",
                             R"("response_format":"text")", R"("tools":{})", R"("logprobs":5)",
                             R"("reasoning_effort":3)", R"("continue_final_message":"yes")"}) {
        EXPECT_EQ(bad(text, Dialect::oai_chat).kind, ErrorKind::invalid_request) << text;
    }
}

}  // namespace
}  // namespace kvalet::api
