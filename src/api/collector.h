// Gathers one generation's events for a reply that is not streamed.
#pragma once

#include <cstddef>
#include <optional>

#include "api/reply.h"
#include "text/text_model.h"

namespace kvalet::api {

/// Text and probabilities that one generation may gather before its reply is given up: n_probs asks for as
/// many alternatives of every token as the vocabulary has, which fills any memory.
constexpr std::size_t kMaxCollectedBytes = std::size_t{256} << 20U;

class Collector {
  public:
    Collector(int index, bool keep_tokens, std::size_t max_bytes = kMaxCollectedBytes)
        : keep_tokens_(keep_tokens), max_bytes_(max_bytes) {
        result_.index = index;
    }

    /// Takes the next event. After the last one, or one too many bytes, done() is true and the rest is
    /// ignored.
    void take(engine::Event event);
    [[nodiscard]] bool done() const { return done_; }
    /// Why there is no result: the engine's error, or the reply is too large.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    /// Once, when done without error. Cuts the probabilities of a stop word's tokens off
    /// (llama-server-api 1.6).
    [[nodiscard]] TaskResult finish(const text::TextModel& model) &&;

  private:
    void take_piece(text::Piece piece);
    void fail(Error error);

    TaskResult result_;
    std::optional<Error> error_;
    bool keep_tokens_;
    bool done_ = false;
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
};

}  // namespace kvalet::api
