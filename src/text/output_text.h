// From the bytes of tokens to the text that may be sent, and to the end of a generation: stop strings, UTF-8
// hold-back, and the limits that are about text or counts. Pure: knows no model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "text/generation.h"
#include "text/params.h"
#include "text/stop_matcher.h"

namespace kvalet::text {

/// Text that waits only for the rest of a UTF-8 character may grow to this. A model that ends every token
/// with half a character would otherwise never say anything.
constexpr std::size_t kMaxHeldForUtf8 = 256;

/// invalid_request when the stop strings weigh more than kMaxStopBytes together.
[[nodiscard]] Status check_stop_params(const StopParams& stop);

class OutputText {
  public:
    /// `stop` passed check_stop_params().
    explicit OutputText(StopParams stop);

    /// Takes the next token's bytes ("" for an end-of-generation token that is not shown) and fills all of
    /// `piece` but token and probs.
    ///
    /// Order of the checks (llama-server-api 3.5); a later one overrides an earlier one only where it says
    /// so:
    ///   1. a stop string is complete: it and what follows it are cut; word
    ///   2. the context is full; limit, truncated, overrides 1
    ///   3. n_predict tokens are there; limit
    ///   4. a line is indented by less than n_indent: it is cut at its first character; limit, overrides 1
    ///   5. t_max_predict_ms have passed and this text brings a newline; limit, overrides 1
    ///   6. end-of-generation token; eos, overrides all
    /// A line counts for 4 if a newline before it was generated; an empty line is one with no indentation.
    void push(std::string_view bytes, bool is_eog, const StepFacts& facts, Piece& piece);

    [[nodiscard]] bool has_new_line() const { return has_new_line_; }

  private:
    [[nodiscard]] std::size_t held_back() const;
    void take(std::size_t n_held, std::string& out);
    [[nodiscard]] std::size_t indented_end(std::string_view text);

    StopParams params_;
    StopMatcher matcher_;
    std::string pending_;     // generated and not sent
    std::uint64_t sent_ = 0;  // bytes of text before pending_
    std::int64_t n_decoded_ = 0;
    std::int64_t indent_ = 0;  // white space so far on the line that is being read
    bool in_indent_ = false;   // at the beginning of a line, after a newline
    bool has_new_line_ = false;
};

}  // namespace kvalet::text
