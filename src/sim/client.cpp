#include "sim/client.h"

#include <algorithm>
#include <utility>

namespace kvalet::sim {

namespace {

/// Small, so that it is full in time: the answers of a run are short.
constexpr std::size_t kDawdlersOutbox = 8;

/// The most likely token, n of them; no text.
class Greedy final : public text::Generation {
  public:
    explicit Greedy(std::int64_t n_predict) : left_(n_predict) {}
    void begin(std::span<const Token>) override {}
    text::Piece next(std::span<const float> logits, const text::StepFacts& facts) override {
        text::Piece piece;
        piece.token = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        --left_;
        piece.truncated = facts.context_full;
        piece.stop = facts.context_full || left_ <= 0 ? text::StopType::limit : text::StopType::none;
        return piece;
    }
    [[nodiscard]] bool has_new_line() const override { return false; }

  private:
    std::int64_t left_;
};

std::string take_token(Client& c, const engine::TokenOut& t, const engine::FakeBackend& backend) {
    if (t.piece.token != backend.next_of(c.text)) {
        return "a wrong token after " + std::to_string(c.n_tokens);
    }
    if (t.n_decoded.value() != c.n_tokens + 1) {
        return "token " + std::to_string(t.n_decoded.value()) + " after " + std::to_string(c.n_tokens);
    }
    if (c.parked) {
        return "a token while it is parked";
    }
    c.text = engine::FakeBackend::extended(c.text, t.piece.token);
    ++c.n_tokens;
    return {};
}

// The end (P4.6, P6.3, P10): all tokens that were asked for, or as many as the context holds; the prompt
// counted once.
std::string take_end(Client& c, const engine::Finished& f, const engine::FakeBackend& backend) {
    c.ended = true;
    const std::int64_t n_ctx = backend.caps().n_ctx_slot.value();
    const bool full = f.truncated && c.ask.n_prompt + c.n_tokens >= n_ctx;
    if (f.stop != text::StopType::limit || (c.n_tokens != c.ask.n_predict && !full)) {
        return "ended after " + std::to_string(c.n_tokens) + " of " + std::to_string(c.ask.n_predict) +
               " tokens";
    }
    if (f.n_decoded.value() != c.n_tokens) {
        return "the end counts " + std::to_string(f.n_decoded.value()) + " tokens, not " +
               std::to_string(c.n_tokens);
    }
    if ((f.timings.cache_n + f.timings.prompt_n).value() != c.ask.n_prompt) {
        return "the prompt is not counted once (P6.3)";
    }
    return {};
}

}  // namespace

engine::Request request_of(Client& c, const engine::FakeBackend& backend, std::uint64_t seed,
                           std::function<void()> notify) {
    const std::size_t capacity = c.dawdler() ? kDawdlersOutbox : engine::Outbox::kDefaultCapacity;
    c.outbox = std::make_shared<engine::Outbox>(std::move(notify), capacity);
    engine::Request r;
    r.public_id = std::to_string(c.number);
    r.prompt = prompt_of(c.ask, seed, c.number, backend.n_vocab());
    r.generation = std::make_unique<Greedy>(c.ask.n_predict);
    r.outbox = c.outbox;
    r.priority = c.ask.priority;
    c.text = engine::FakeBackend::state_of(r.prompt);
    return r;
}

std::string take(Client& c, const engine::Event& event, const engine::FakeBackend& backend) {
    if (c.ended) {
        return "an event after the last one";
    }
    if (const auto* t = std::get_if<engine::TokenOut>(&event)) {
        return take_token(c, *t, backend);
    }
    if (std::holds_alternative<engine::ParkedNotice>(event)) {
        return std::exchange(c.parked, true) ? "parked twice" : "";
    }
    if (std::holds_alternative<engine::ResumedNotice>(event)) {
        return std::exchange(c.parked, false) ? "" : "resumed without being parked";
    }
    if (const auto* f = std::get_if<engine::Finished>(&event)) {
        return take_end(c, *f, backend);
    }
    if (const auto* e = std::get_if<engine::Failed>(&event)) {
        c.ended = true;
        return "failed: " + e->error.message;
    }
    return {};
}

}  // namespace kvalet::sim
