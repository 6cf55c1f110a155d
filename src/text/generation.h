// From logits to text, for one sequence: sampling, grammar, detokenising, stop strings, UTF-8 hold-back. It
// lives as long as the sequence, also while that is parked, and neither a park nor a replay touches it (P0
// "parked").
//
// Thread: one at a time; the engine calls next() of different generations side by side, never of the same
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"

namespace kvalet::text {

enum class StopType : std::uint8_t { none, eos, limit, word };

/// One alternative with its log-probability (or probability, see SamplingParams::post_sampling_probs).
struct TokenProb {
    Token token = 0;
    std::string text;  // the token's bytes; may be no valid UTF-8
    float p = 0.0F;  // logprob (natural; -FLT_MAX for probability 0), or probability with post_sampling_probs
};

/// The chosen token and its best alternatives, most likely first.
struct TokenProbs {
    TokenProb chosen;
    std::vector<TokenProb> top;
};

/// What the engine knows when a token is chosen.
struct StepFacts {
    bool context_full = false;  // the sequence cannot take one more token after this one (P4.6)
    Micros predict_us = 0;      // time since the first token, without the time spent parked or replaying
};

/// What one token brought.
struct Piece {
    Token token = 0;
    /// Text that may be sent now. Shorter than the token's own where a stop string or a UTF-8 character could
    /// still complete, longer where earlier text was held back. At the end of a generation nothing stays held
    /// back but the stop word itself (and what follows it).
    std::string text;
    /// A UTF-8 character is half complete and no text can be sent: llama-server sends no event for such a
    /// token (llama-server-api 1.6). `text` is empty then.
    bool incomplete_utf8 = false;
    StopType stop = StopType::none;
    bool truncated = false;         // stopped because the context was full
    std::string stopping_word;      // with StopType::word
    std::vector<TokenProbs> probs;  // one entry with n_probs > 0, else empty
};

class Generation {
  public:
    virtual ~Generation() = default;

    /// Tells the sampler the prompt (penalties and DRY look at it; the grammar does not). Once, before the
    /// first next().
    virtual void begin(std::span<const Token> prompt) = 0;

    /// Chooses the next token from one row of logits (n_vocab floats, natural scale, not changed), accepts
    /// it, and says what text it brings and whether it is the last. Order of the checks: stop word, context,
    /// n_predict, n_indent, t_max_predict_ms, end-of-generation token (llama-server-api 3.5).
    virtual Piece next(std::span<const float> logits, const StepFacts& facts) = 0;

    /// Whether the text so far holds a newline.
    [[nodiscard]] virtual bool has_new_line() const = 0;
};

}  // namespace kvalet::text
