#include "text/llama_text_model.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "loaded_model.h"

namespace kvalet::text {
namespace {

class LlamaTextModelTest : public ModelTest {};

TEST_F(LlamaTextModelTest, SaysWhatTheModelIs) {
    const auto model =
        make_model({.path = "some/path.gguf", .alias = "smol", .chat_template = "", .special = false});
    const ModelInfo& info = model->info();
    EXPECT_EQ(info.path, "some/path.gguf");
    EXPECT_EQ(info.alias, "smol");
    EXPECT_EQ(info.ftype, "Q4_1");
    EXPECT_NE(info.description.find("llama"), std::string::npos) << info.description;
    EXPECT_EQ(info.n_vocab, 49152);
    EXPECT_EQ(info.n_ctx_train, 8192);
    EXPECT_EQ(info.n_embd, 576);
    EXPECT_EQ(info.bos_text, "<|im_start|>");
    EXPECT_EQ(info.eos_text, "<|im_end|>");
    EXPECT_GT(info.n_params, 100000000U);
    EXPECT_GT(info.size_bytes, 50000000U);
    EXPECT_FALSE(info.has_encoder);
    EXPECT_NE(info.chat_template.find("im_start"), std::string::npos);
    EXPECT_EQ(info.chat_template_warning, "");
    EXPECT_FALSE(info.sampling.top_k);
    EXPECT_TRUE(info.sampling.samplers.empty());
}

TEST_F(LlamaTextModelTest, TokenizesThereAndBack) {
    for (const std::string text :
         {"", "Hello, world!", "  two  spaces\n\n\ttab",
          "na\xC3\xAFve \xF0\x9F\x98\x80 \xE4\xBD\xA0\xE5\xA5\xBD", "<|im_start|>user\nhi<|im_end|>\n"}) {
        EXPECT_EQ(model_->detokenize(tokens(text), true), text);
    }
    const std::string nul("a\0b", 3);
    EXPECT_EQ(model_->detokenize(tokens(nul), true), nul);
}

TEST_F(LlamaTextModelTest, ParsesSpecialTokensOnlyWhenAsked) {
    EXPECT_EQ(tokens("<|im_end|>").size(), 1U);
    EXPECT_GT(tokens("<|im_end|>", false).size(), 1U);
    EXPECT_EQ(model_->detokenize(tokens("<|im_end|>", false), true), "<|im_end|>");
}

TEST_F(LlamaTextModelTest, RendersSpecialTokensOnlyWhenAsked) {
    const auto chat = tokens("<|im_start|>user\nhi<|im_end|>");
    EXPECT_EQ(model_->detokenize(chat, true), "<|im_start|>user\nhi<|im_end|>");
    EXPECT_EQ(model_->detokenize(chat, false), "user\nhi");
    EXPECT_EQ(model_->piece(chat.front(), false), "");
    EXPECT_EQ(model_->piece(chat.front(), true), "<|im_start|>");
}

TEST_F(LlamaTextModelTest, KnowsWhatEndsAGeneration) {
    EXPECT_TRUE(model_->is_eog(tokens("<|im_end|>").front()));
    EXPECT_FALSE(model_->is_eog(tokens("hello").front()));
    EXPECT_FALSE(model_->is_eog(-1));
    EXPECT_FALSE(model_->is_eog(model_->info().n_vocab));
}

TEST_F(LlamaTextModelTest, IdsOutsideTheVocabularyHaveNoText) {
    EXPECT_EQ(model_->piece(-1, true), "");
    EXPECT_EQ(model_->piece(model_->info().n_vocab, true), "");
}

TEST_F(LlamaTextModelTest, SurvivesInvalidUtf8) {
    for (const std::string text :
         {"\xFF\xFE", "a\xC3", "\xE2\x82", "\xED\xA0\x80", "\x80\x80\x80 and text"}) {
        const auto made = model_->tokenize(text, true, true);
        if (made.ok()) {
            EXPECT_FALSE(model_->detokenize(*made, true).empty());
        } else {
            EXPECT_EQ(made.error().kind, ErrorKind::invalid_request);
        }
    }
}

TEST_F(LlamaTextModelTest, TokenizesLongTexts) {
    std::string text;
    while (text.size() < 1000000) {
        text += "word number " + std::to_string(text.size()) + ". ";
    }
    EXPECT_EQ(model_->detokenize(tokens(text), true), text);
}

TEST_F(LlamaTextModelTest, TokenizesInManyThreadsAtOnce) {
    const std::string text = "The quick brown fox <|im_end|> jumps over \xE4\xBD\xA0";
    const auto want = tokens(text);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 200; ++k) {
                wrong += *model_->tokenize(text, false, true) == want ? 0 : 1;
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(wrong, 0);
}

// ---- chat templates
// ------------------------------------------------------------------------------------------

const std::vector<ChatMessage>& chat() {
    static const std::vector<ChatMessage> messages = {{"system", "Be brief."}, {"user", "Hi"}};
    return messages;
}

constexpr const char* kChatml = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n";

TEST_F(LlamaTextModelTest, AppliesTheModelsTemplate) {
    EXPECT_EQ(*model_->apply_template(chat(), false), kChatml);
    EXPECT_EQ(*model_->apply_template(chat(), true), std::string(kChatml) + "<|im_start|>assistant\n");
}

TEST_F(LlamaTextModelTest, AppliesANamedTemplate) {
    const auto llama2 = make_model({.path = "", .alias = "", .chat_template = "llama2", .special = false});
    EXPECT_EQ(llama2->info().chat_template_warning, "");
    const auto text = llama2->apply_template(chat(), true);
    ASSERT_TRUE(text.ok());
    EXPECT_NE(text->find("[INST]"), std::string::npos) << *text;
}

TEST_F(LlamaTextModelTest, RecognisesATemplatesSource) {
    const auto gemma =
        make_model({.path = "",
                    .alias = "",
                    .chat_template = "{{ bos_token }}{% for m in messages %}<start_of_turn>{% endfor %}",
                    .special = false});
    EXPECT_EQ(gemma->info().chat_template_warning, "");
    EXPECT_NE(gemma->apply_template(chat(), true)->find("<start_of_turn>model"), std::string::npos);
}

TEST_F(LlamaTextModelTest, FallsBackToChatmlAndSaysSo) {
    const auto odd = make_model({.path = "", .alias = "", .chat_template = "{{ odd }}", .special = false});
    EXPECT_NE(odd->info().chat_template_warning.find("ChatML"), std::string::npos);
    EXPECT_EQ(odd->info().chat_template, "{{ odd }}");
    EXPECT_EQ(*odd->apply_template(chat(), false), kChatml);
}

TEST_F(LlamaTextModelTest, TakesLongMessages) {
    const std::string content(3000000, 'x');
    const auto text = model_->apply_template(std::vector<ChatMessage>{{"user", content}}, true);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, "<|im_start|>user\n" + content + "<|im_end|>\n<|im_start|>assistant\n");
    // Many short ones: most of the text is the template's.
    const std::vector<ChatMessage> many(2000, ChatMessage{"u", ""});
    EXPECT_TRUE(model_->apply_template(many, false)->ends_with("<|im_start|>u\n<|im_end|>\n"));
    EXPECT_EQ(model_->apply_template(many, false)->size(),
              2000 * std::string("<|im_start|>u\n<|im_end|>\n").size());
}

TEST_F(LlamaTextModelTest, NamesTheFieldThatHoldsANulCharacter) {
    const std::vector<ChatMessage> in_content = {{"user", "a"}, {"user", std::string("a\0b", 3)}};
    const auto a = model_->apply_template(in_content, true);
    ASSERT_FALSE(a.ok());
    EXPECT_EQ(a.error().kind, ErrorKind::invalid_request);
    EXPECT_NE(a.error().message.find("messages[1].content"), std::string::npos);
    const std::vector<ChatMessage> in_role = {{std::string("us\0er", 5), "a"}};
    EXPECT_NE(model_->apply_template(in_role, true).error().message.find("messages[0].role"),
              std::string::npos);
}

TEST_F(LlamaTextModelTest, AnEmptyChatIsNoError) {
    EXPECT_EQ(*model_->apply_template({}, false), "");
}

}  // namespace
}  // namespace kvalet::text
