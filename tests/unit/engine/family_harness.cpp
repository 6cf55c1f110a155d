#include "unit/engine/family_harness.h"

#include <gtest/gtest.h>

#include "support/argmax_generation.h"

namespace kvalet::test {

namespace {

/// Takes a token beside the best one first, then the best.
class ShiftedFirst final : public text::Generation {
  public:
    ShiftedFirst(std::int64_t n_predict, Token shift) : rest_(n_predict), shift_(shift) {}
    void begin(std::span<const Token>) override {}
    text::Piece next(std::span<const float> logits, const text::StepFacts& facts) override {
        text::Piece p = rest_.next(logits, facts);
        if (first_) {
            p.token = (p.token + shift_) % static_cast<Token>(logits.size());
            first_ = false;
        }
        return p;
    }
    [[nodiscard]] bool has_new_line() const override { return false; }

  private:
    ArgmaxGeneration rest_;
    Token shift_;
    bool first_ = true;
};

}  // namespace

void Member::read() {
    while (auto event = outbox->try_pop()) {
        EXPECT_FALSE(finished || failed) << "an event after the last one";
        if (auto* t = std::get_if<engine::TokenOut>(&*event)) {
            tokens.push_back(t->piece.token);
        } else if (auto* f = std::get_if<engine::Finished>(&*event)) {
            finished = *f;
        } else if (auto* e = std::get_if<engine::Failed>(&*event)) {
            failed = e->error;
        }
    }
}

Family ask_family(Harness& h, std::size_t n, std::int64_t n_prompt,
                  const std::vector<std::int64_t>& n_predict) {
    Family f;
    for (std::int64_t i = 0; i < n_prompt; ++i) {
        f.prompt.push_back(static_cast<Token>(200 - i % 100));
    }
    f.members.resize(n);
    engine::Request r;
    r.public_id = "family";
    r.prompt = f.prompt;
    r.generation = std::make_unique<ShiftedFirst>(n_predict[0], 0);
    r.outbox = f.members[0].outbox;
    for (std::size_t i = 1; i < n; ++i) {
        r.child_generations.push_back(std::make_unique<ShiftedFirst>(n_predict[i], static_cast<Token>(i)));
        r.child_outboxes.push_back(f.members[i].outbox);
    }
    f.task = h.engine().submit(std::move(r));
    return f;
}

void expect_right_tokens(const Harness& h, const Family& f, std::size_t index) {
    const std::vector<Token>& tokens = f.members[index].tokens;
    if (tokens.empty()) {
        return;
    }
    std::vector<Token> all = f.prompt;
    all.push_back((h.backend.next_token(all) + static_cast<Token>(index)) % h.backend.n_vocab());
    const std::vector<Token> rest = h.alone(all, static_cast<std::int64_t>(tokens.size()) - 1);
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(tokens,
              std::vector<Token>(all.begin() + static_cast<std::ptrdiff_t>(f.prompt.size()), all.end()))
        << "member " << index;
}

void expect_exact(const Harness& h, Family& f) {
    for (std::size_t i = 0; i < f.members.size(); ++i) {
        Member& m = f.members[i];
        m.read();
        ASSERT_TRUE(m.finished.has_value()) << (m.failed ? m.failed->message : "no end");
        ASSERT_FALSE(m.tokens.empty());
        expect_right_tokens(h, f, i);
    }
}

}  // namespace kvalet::test
