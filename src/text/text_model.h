// The text side of a model: vocabulary, chat template, samplers. A port, so that the server runs on a fake
// model as well.
//
// Thread: all methods are const and may be called from any thread at any time, also while the engine decodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "text/generation.h"
#include "text/params.h"

namespace kvalet::text {

/// What the model file itself recommends (general.sampling.* of the GGUF). Between the built-in defaults and
/// the command line: a flag that was given wins (llama-server-api 1.5).
struct ModelSampling {
    std::optional<std::int32_t> top_k;
    std::optional<float> top_p, min_p, xtc_probability, xtc_threshold, temperature;
    std::optional<std::int32_t> repeat_last_n;
    std::optional<float> repeat_penalty;
    std::optional<std::int32_t> mirostat;
    std::optional<float> mirostat_tau, mirostat_eta;
    std::vector<std::string> samplers;  // empty: the file says nothing
};

struct ModelInfo {
    std::string path;                   // as given with -m
    std::string alias;                  // as given with --alias, "" for none
    std::string description;            // libllama's one line
    std::string ftype;                  // "Q4_1", "" when unknown
    std::string chat_template;          // Jinja source in use (or the name of a built-in one), "" for none
    std::string chat_template_warning;  // one sentence when another template is used in its place, else ""
    std::string bos_text, eos_text;
    ModelSampling sampling;
    std::int32_t vocab_type = 0;  // llama_vocab_type
    std::int32_t n_vocab = 0;
    std::int32_t n_ctx_train = 0;
    std::int32_t n_embd = 0;
    std::uint64_t n_params = 0;
    std::uint64_t size_bytes = 0;
    bool has_encoder = false;
};

struct ChatMessage {
    std::string role;
    std::string content;
};

/// Defaults of the command line; a request's own fields win.
struct TextDefaults {
    SamplingParams sampling;
    StopParams stop;
};

class TextModel {
  public:
    virtual ~TextModel() = default;
    [[nodiscard]] virtual const ModelInfo& info() const = 0;

    /// add_special: BOS and the like where the model wants them. parse_special: "<|im_end|>" becomes one
    /// token. invalid_request when the text is larger than the tokenizer can take.
    [[nodiscard]] virtual Result<std::vector<Token>> tokenize(std::string_view text, bool add_special,
                                                              bool parse_special) const = 0;
    /// The token's bytes; special tokens are rendered only when `special` is set. Any token id in the
    /// vocabulary.
    [[nodiscard]] virtual std::string piece(Token token, bool special) const = 0;
    [[nodiscard]] virtual std::string detokenize(std::span<const Token> tokens, bool special) const = 0;
    [[nodiscard]] virtual bool is_eog(Token token) const = 0;

    /// The prompt text of a chat. add_assistant: open the assistant's turn.
    [[nodiscard]] virtual Result<std::string> apply_template(std::span<const ChatMessage> messages,
                                                             bool add_assistant) const = 0;

    /// Makes the sampler and stop machinery of one request. invalid_request for a grammar that does not parse
    /// (message names `grammar`) or a sampler that cannot be made ("Failed to initialize samplers: …").
    /// n_ctx: the context of a slot, which -1 in repeat_last_n and dry_penalty_last_n stands for.
    [[nodiscard]] virtual Result<std::unique_ptr<Generation>> make_generation(const SamplingParams& sampling,
                                                                              const StopParams& stop,
                                                                              std::int32_t n_ctx) const = 0;
};

}  // namespace kvalet::text
