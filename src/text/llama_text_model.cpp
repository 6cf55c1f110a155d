#include "text/llama_text_model.h"

#include <climits>
#include <exception>
#include <utility>

#include "llama.h"
#include "text/llama_generation.h"
#include "text/llama_model_info.h"
#include "text/output_text.h"
#include "text/sampler.h"

namespace kvalet::text {

namespace {

constexpr const char* kFallbackTemplate = "chatml";

/// libllama knows a template by its name or by what it finds in the source; -1 if it does not.
bool is_known_template(const std::string& source) {
    const llama_chat_message hello{"user", "hello"};
    return llama_chat_apply_template(source.c_str(), &hello, 1, true, nullptr, 0) >= 0;
}

Error too_long(const char* field) {
    return make_error(ErrorKind::invalid_request,
                      std::string(field) + " is larger than the tokenizer can take");
}

class LlamaTextModel final : public TextModel {
  public:
    LlamaTextModel(const llama_model& model, LlamaTextOptions options);

    [[nodiscard]] const ModelInfo& info() const override { return info_; }
    [[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view text, bool add_special,
                                                      bool parse_special) const override;
    [[nodiscard]] std::string piece(Token token, bool special) const override {
        return token_piece(vocab_, token, special);
    }
    [[nodiscard]] std::string detokenize(std::span<const Token> tokens, bool special) const override;
    [[nodiscard]] bool is_eog(Token token) const override {
        return token >= 0 && token < info_.n_vocab && llama_vocab_is_eog(&vocab_, token);
    }
    [[nodiscard]] Result<std::string> apply_template(std::span<const ChatMessage> messages,
                                                     bool add_assistant) const override;
    [[nodiscard]] Result<std::unique_ptr<Generation>> make_generation(const SamplingParams& sampling,
                                                                      const StopParams& stop,
                                                                      std::int32_t n_ctx) const override;

  private:
    void choose_template(const llama_model& model, std::string given);

    const llama_vocab& vocab_;
    ModelInfo info_;
    std::string template_;  // what llama_chat_apply_template() gets
    bool special_;
    std::vector<Token> eog_;
    std::span<const Token> suppress_;
};

LlamaTextModel::LlamaTextModel(const llama_model& model, LlamaTextOptions options)
    : vocab_(*llama_model_get_vocab(&model)), info_(read_model_info(model)), special_(options.special) {
    info_.path = std::move(options.path);
    info_.alias = std::move(options.alias);
    choose_template(model, std::move(options.chat_template));
    for (Token t = 0; t < info_.n_vocab; ++t) {
        if (llama_vocab_is_eog(&vocab_, t)) {
            eog_.push_back(t);
        }
    }
    // The model's own end token first: it is what a generation ends with that a grammar leaves no other
    // token.
    for (std::size_t i = 0; i < eog_.size(); ++i) {
        if (eog_[i] == llama_vocab_eos(&vocab_)) {
            std::swap(eog_[0], eog_[i]);
        }
    }
    std::int32_t n_suppress = 0;
    const llama_token* suppress = llama_vocab_get_suppress_tokens(&vocab_, &n_suppress);
    suppress_ = {suppress, static_cast<std::size_t>(n_suppress)};
}

void LlamaTextModel::choose_template(const llama_model& model, std::string given) {
    info_.chat_template = std::move(given);
    if (info_.chat_template.empty()) {
        const char* own = llama_model_chat_template(&model, nullptr);
        info_.chat_template = own == nullptr ? "" : own;
    }
    template_ = info_.chat_template;
    if (template_.empty()) {
        template_ = kFallbackTemplate;
        info_.chat_template_warning = "The model has no chat template; ChatML is used in its place.";
    } else if (!is_known_template(template_)) {
        template_ = kFallbackTemplate;
        info_.chat_template_warning =
            "libllama does not know the chat template; ChatML is used in its place.";
    }
}

Result<std::vector<Token>> LlamaTextModel::tokenize(std::string_view text, bool add_special,
                                                    bool parse_special) const {
    // Room for a token per byte and for those that are added; what needs more says how much.
    if (text.size() > static_cast<std::size_t>(INT_MAX) - 16) {
        return too_long("The text");
    }
    const auto size = static_cast<std::int32_t>(text.size());
    std::vector<Token> tokens(text.size() + 8);
    try {
        std::int32_t n = llama_tokenize(&vocab_, text.data(), size, tokens.data(),
                                        static_cast<std::int32_t>(tokens.size()), add_special, parse_special);
        if (n == INT32_MIN) {
            return too_long("The text");
        }
        if (n < 0) {
            tokens.resize(static_cast<std::size_t>(-n));
            n = llama_tokenize(&vocab_, text.data(), size, tokens.data(), -n, add_special, parse_special);
        }
        tokens.resize(static_cast<std::size_t>(n));
    } catch (const std::exception& e) {
        return make_error(ErrorKind::invalid_request,
                          std::string("The text cannot be tokenized: ") + e.what());
    }
    return tokens;
}

std::string LlamaTextModel::detokenize(std::span<const Token> tokens, bool special) const {
    // The pieces one after the other, so that a whole is the same as what was streamed.
    std::string text;
    for (const Token t : tokens) {
        text += piece(t, special);
    }
    return text;
}

Result<std::string> LlamaTextModel::apply_template(std::span<const ChatMessage> messages,
                                                   bool add_assistant) const {
    std::vector<llama_chat_message> chat;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const ChatMessage& m = messages[i];
        for (const auto& [name, value] : {std::pair("role", &m.role), std::pair("content", &m.content)}) {
            if (value->find('\0') != std::string::npos) {  // libllama's text ends there
                return make_error(ErrorKind::invalid_request, "Field 'messages[" + std::to_string(i) + "]." +
                                                                  name +
                                                                  "' must not contain a NUL character");
            }
        }
        chat.push_back({m.role.c_str(), m.content.c_str()});
        bytes += m.role.size() + m.content.size();
    }
    if (bytes > static_cast<std::size_t>(INT_MAX) / 4) {
        return too_long("Field 'messages'");
    }
    // A first guess that most chats fit in; the answer says what it should have been.
    std::string text(2 * bytes + 256, '\0');
    for (;;) {
        const std::int32_t size =
            llama_chat_apply_template(template_.c_str(), chat.data(), chat.size(), add_assistant, text.data(),
                                      static_cast<std::int32_t>(text.size()));
        if (size < 0) {
            return make_error(ErrorKind::server, "libllama cannot apply the chat template to these messages");
        }
        const bool fits = static_cast<std::size_t>(size) <= text.size();
        text.resize(static_cast<std::size_t>(size));
        if (fits) {
            return text;
        }
    }
}

Result<std::unique_ptr<Generation>> LlamaTextModel::make_generation(const SamplingParams& sampling,
                                                                    const StopParams& stop,
                                                                    std::int32_t n_ctx) const {
    if (Status checked = check_stop_params(stop); !checked) {
        return checked.error();
    }
    auto sampler = Sampler::make({&vocab_, info_.n_vocab, eog_, suppress_}, sampling, n_ctx);
    if (!sampler) {
        return sampler.error();
    }
    return std::unique_ptr<Generation>(
        std::make_unique<LlamaGeneration>(vocab_, std::move(*sampler), sampling, stop, special_));
}

}  // namespace

std::unique_ptr<TextModel> make_llama_text_model(const llama_model* model, LlamaTextOptions options) {
    return std::make_unique<LlamaTextModel>(*model, std::move(options));
}

}  // namespace kvalet::text
