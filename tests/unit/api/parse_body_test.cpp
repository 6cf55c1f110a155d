// Bodies, prompts and messages: their forms, and what is wrong with them.
#include <gtest/gtest.h>

#include "api/parse_chat.h"
#include "api/parse_prompt.h"
#include "api_test_model.h"

namespace kvalet::api {
namespace {

using Prompts = std::vector<std::vector<Token>>;
constexpr Token kBos = test::FakeTextModel::kBos;
constexpr Token kEos = test::FakeTextModel::kEos;

TEST(ParseBody, MalformedJson) {
    const Fixture fixture;
    for (const std::string& body :
         {std::string(""), std::string("{"), std::string("{\"prompt\":}"), std::string("nope"),
          std::string("{\"prompt\":\"\xff\"}"), std::string("{\"prompt\":\"\xc3\"}"),
          std::string("{\"prompt\":\"\xed\xa0\x80\"}"), std::string("{\"n_predict\":1e999}"),
          std::string("{\"prompt\":\"a\"} x"), std::string("{\"prompt\":\"\\ud800\"}")}) {
        const auto job = fixture.parse(body);
        ASSERT_FALSE(job.ok()) << body;
        EXPECT_EQ(job.error().kind, ErrorKind::invalid_request);
        EXPECT_EQ(job.error().message.find("The body is not valid JSON: "), 0U) << job.error().message;
    }
    EXPECT_EQ(fixture.parse("[1]").error().message, "The body must be a JSON object, but is an array");
}

TEST(ParseBody, DepthAndKeysAreLimited) {
    const std::string deep(kMaxJsonDepth + 1, '[');
    EXPECT_EQ(parse_json(deep).error().message, "The body is not valid JSON: nested deeper than 128 levels");
    const std::string fits = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
    EXPECT_TRUE(parse_json(fits).ok());
    EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\"").ok()) << "brackets in strings do not count";
    EXPECT_TRUE(parse_json(R"("\"[[[")").ok());

    std::string wide = "{\"k\":0";
    for (int i = 0; i < 7000; ++i) {
        wide += ",\"" + std::to_string(i) + "\":0";
    }
    EXPECT_EQ(parse_json(wide + "}").error().message,
              "The body is not valid JSON: too many keys in one object");
}

TEST(ParsePrompt, Forms) {
    const Fixture fixture;
    const struct {
        const char* prompt;
        Prompts want;
    } table[] = {
        {R"("hi")", {{kBos, 'h', 'i'}}},
        {R"("")", {{kBos}}},
        {R"("a</s>")", {{kBos, 'a', kEos}}},
        {R"([1,2,3])", {{1, 2, 3}}},
        {R"(["a",5,"b"])", {{kBos, 'a', 5, 'b'}}},
        {R"([5,"b"])", {{5, 'b'}}},
        {R"(["a","b"])", {{kBos, 'a'}, {kBos, 'b'}}},
        {R"([[1,2],[3]])", {{1, 2}, {3}}},
        {R"([["a",1],"b",{"prompt_string":"c"}])", {{kBos, 'a', 1}, {kBos, 'b'}, {kBos, 'c'}}},
        {R"({"prompt_string":"hi"})", {{kBos, 'h', 'i'}}},
        {R"({"prompt_string":"hi","multimodal_data":[]})", {{kBos, 'h', 'i'}}},
    };
    for (const auto& row : table) {
        const auto job = fixture.parse(std::string("{\"prompt\":") + row.prompt + "}");
        ASSERT_TRUE(job.ok()) << row.prompt << ": " << job.error().message;
        EXPECT_EQ(job->prompts, row.want) << row.prompt;
    }
}

std::string list_of_a(std::size_t n) {
    std::string list;
    for (std::size_t i = 0; i < n; ++i) {
        list += ",\"a\"";
    }
    return list;
}

TEST(ParsePrompt, Errors) {
    const Fixture fixture;
    const struct {
        const char* body;
        const char* message;
    } table[] = {
        {"{}", "Field 'prompt': is required"},
        {R"({"prompt":null})", "Field 'prompt': is required"},
        {R"({"prompt":[]})", "Field 'prompt': must not be empty"},
        {R"({"prompt":[[]]})", "Field 'prompt': must not be empty"},
        {R"({"prompt":7})", "Field 'prompt': must be a string or an array, but is an integer"},
        {R"({"prompt":[1,260]})", "Field 'prompt': token 260 is outside the vocabulary (0 to 259)"},
        {R"({"prompt":[1,-1]})", "Field 'prompt': token -1 is outside the vocabulary (0 to 259)"},
        {R"({"prompt":[1,1.5]})",
         "Field 'prompt': an element must be a string or a token id, but is a number"},
        {R"({"prompt":[1,18446744073709551615]})",
         "Field 'prompt': an element must be a string or a token id, but is an integer"},
        {R"({"prompt":{}})", "Field 'prompt': an object must have a prompt_string"},
        {R"({"prompt":{"prompt_string":"a","multimodal_data":["eA=="]}})",
         "Field 'prompt': multimodal_data is not supported yet"},
    };
    for (const auto& row : table) {
        const auto job = fixture.parse(row.body);
        ASSERT_FALSE(job.ok()) << row.body;
        EXPECT_EQ(job.error().message, row.message);
    }
    EXPECT_EQ(fixture.parse(R"({"prompt":["a")" + list_of_a(kMaxPrompts) + "]}").error().message,
              "Field 'prompt': at most 256 prompts in one request");
    EXPECT_EQ(fixture.parse(R"({"n":4,"prompt":["a")" + list_of_a(63) + "]}")->prompts.size(), 64U);
    EXPECT_EQ(fixture.parse(R"({"n":4,"prompt":["a")" + list_of_a(64) + "]}").error().message,
              "Fields 'prompt' and 'n': at most 256 generations in one request");
}

std::string rendered(const Fixture& fixture, const std::string& body) {
    const auto json = parse_json_object(body);
    const auto text = parse_and_render_chat(*json, fixture.context());
    return text.ok() ? *text : "error: " + text.error().message;
}

TEST(ParseChat, Renders) {
    const Fixture fixture;
    EXPECT_EQ(
        rendered(fixture, R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]})"),
        "<|turn|>system\ns<|end|><|turn|>user\nu<|end|><|turn|>assistant\n");
    EXPECT_EQ(rendered(fixture, R"({"messages":[{"role":"developer","content":null},
                 {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})"),
              "<|turn|>system\n<|end|><|turn|>user\na\nb<|end|><|turn|>assistant\n");
    EXPECT_EQ(
        rendered(fixture, R"({"add_generation_prompt":false,"messages":[{"role":"user","content":"u"}]})"),
        "<|turn|>user\nu<|end|>");
}

TEST(ParseChat, ATrailingAssistantMessageIsContinued) {
    Fixture fixture;
    const std::string body =
        R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"I am"}]})";
    EXPECT_EQ(rendered(fixture, body), "<|turn|>user\nu<|end|><|turn|>assistant\nI am");
    EXPECT_EQ(rendered(fixture, R"({"continue_final_message":true,"add_generation_prompt":false,
                 "messages":[{"role":"user","content":"u"},{"role":"assistant","content":"I am"}]})"),
              "<|turn|>user\nu<|end|><|turn|>assistant\nI am");
    fixture.config.prefill_assistant = false;
    EXPECT_EQ(rendered(fixture, body),
              "<|turn|>user\nu<|end|><|turn|>assistant\nI am<|end|><|turn|>assistant\n");
}

TEST(ParseChat, Errors) {
    const Fixture fixture;
    const struct {
        const char* body;
        const char* message;
        ErrorKind kind;
    } table[] = {
        {"{}", "Field 'messages': is required", ErrorKind::invalid_request},
        {R"({"messages":"hi"})", "Field 'messages': must be an array, but is a string",
         ErrorKind::invalid_request},
        {R"({"messages":[]})", "Field 'messages': must hold 1 to 16384 messages", ErrorKind::invalid_request},
        {R"({"messages":["hi"]})", "Field 'messages[0]': must be an object, but is a string",
         ErrorKind::invalid_request},
        {R"({"messages":[{"content":"x"}]})", "Field 'messages[0]': must have a role that is a string",
         ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user","content":"x"},{"role":"wizard","content":"x"}]})",
         "Field 'messages[1]': unknown role \"wizard\"; known are system, developer, user and assistant",
         ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user"}]})", "Field 'messages[0]': a message of role user must have content",
         ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user","content":5}]})",
         "Field 'messages[0]': content must be a string, null or an array, but is an integer",
         ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user","content":["x"]}]})",
         "Field 'messages[0]': each part of content must be an object with a type",
         ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
         "Field 'messages[0]': a part of type text must have a string text", ErrorKind::invalid_request},
        {R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
         "Field 'messages[0]': content of type \"image_url\" is not supported yet, only text",
         ErrorKind::not_supported},
        {R"({"messages":[{"role":"tool","content":"x"}]})",
         "Field 'messages[0]': the role tool is not supported yet", ErrorKind::not_supported},
        {R"({"messages":[{"role":"assistant","content":"","tool_calls":[{}]}]})",
         "Field 'messages[0]': tool_calls are not supported yet", ErrorKind::not_supported},
        {R"({"messages":[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"}]})",
         "Field 'messages': two assistant messages at the end cannot be continued",
         ErrorKind::invalid_request},
        {R"({"continue_final_message":true,"messages":[{"role":"user","content":"u"}]})",
         "Field 'continue_final_message': the last message is not the assistant's",
         ErrorKind::invalid_request},
        {R"({"continue_final_message":true,"add_generation_prompt":true,
             "messages":[{"role":"assistant","content":"u"}]})",
         "Fields 'add_generation_prompt' and 'continue_final_message' cannot both be true",
         ErrorKind::invalid_request},
    };
    for (const auto& row : table) {
        const auto job = fixture.parse(row.body, Dialect::oai_chat);
        ASSERT_FALSE(job.ok()) << row.body;
        EXPECT_EQ(job.error().message, row.message);
        EXPECT_EQ(job.error().kind, row.kind) << row.body;
    }
}

}  // namespace
}  // namespace kvalet::api
