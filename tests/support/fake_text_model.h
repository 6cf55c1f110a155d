// A text model without a model: each byte is a token, and a few specials. Its generations take the most
// likely token, so that what comes out is decided by the logits alone. Stop strings, UTF-8 and the limits are
// the real ones (text/output_text).
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/text_model.h"

namespace kvalet::test {

/// The rows of logits may be shorter than the vocabulary: a backend of 128 tokens writes ASCII and never
/// ends.
class FakeTextModel final : public text::TextModel {
  public:
    // The vocabulary: 0 to 255 are bytes.
    static constexpr Token kBos = 256;   // "<s>"
    static constexpr Token kEos = 257;   // "</s>", ends a generation
    static constexpr Token kTurn = 258;  // "<|turn|>"
    static constexpr Token kEnd = 259;   // "<|end|>", ends a generation
    static constexpr std::int32_t kVocab = 260;
    /// Text longer than this is refused, to have such an error at hand.
    static constexpr std::size_t kMaxText = std::size_t{8} << 20U;

    FakeTextModel();

    [[nodiscard]] const text::ModelInfo& info() const override { return info_; }
    [[nodiscard]] Result<std::vector<Token>> tokenize(std::string_view text, bool add_special,
                                                      bool parse_special) const override;
    [[nodiscard]] std::string piece(Token token, bool special) const override;
    [[nodiscard]] std::string detokenize(std::span<const Token> tokens, bool special) const override;
    [[nodiscard]] bool is_eog(Token token) const override { return token == kEos || token == kEnd; }
    /// "<|turn|>role\ncontent<|end|>" for each message, then "<|turn|>assistant\n".
    [[nodiscard]] Result<std::string> apply_template(std::span<const text::ChatMessage> messages,
                                                     bool add_assistant) const override;
    /// Ignores the samplers, but refuses what the real one refuses: a repeat_penalty that is not above 0, and
    /// a grammar without a rule `root`.
    [[nodiscard]] Result<std::unique_ptr<text::Generation>> make_generation(
        const text::SamplingParams& sampling, const text::StopParams& stop,
        std::int32_t n_ctx) const override;

    /// The seeds that the first kSeedsKept generations were asked for with, in order.
    [[nodiscard]] std::vector<std::uint32_t> seeds() const;
    static constexpr std::size_t kSeedsKept = 64;

  private:
    text::ModelInfo info_;
    mutable std::mutex mutex_;  // workers make generations side by side
    mutable std::vector<std::uint32_t> seeds_;
};

}  // namespace kvalet::test
