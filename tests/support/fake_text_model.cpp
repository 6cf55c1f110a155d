#include "support/fake_text_model.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "text/output_text.h"
#include "text/select.h"

namespace kvalet::test {

namespace {

constexpr std::array<std::string_view, 4> kSpecials = {"<s>", "</s>", "<|turn|>", "<|end|>"};

/// The special token that the text begins with; -1 for none.
Token special_at(std::string_view text) {
    for (std::size_t i = 0; i < kSpecials.size(); ++i) {
        if (text.starts_with(kSpecials[i])) {
            return FakeTextModel::kBos + static_cast<Token>(i);
        }
    }
    return -1;
}

class FakeGeneration final : public text::Generation {
  public:
    FakeGeneration(const FakeTextModel& model, text::SamplingParams sampling, text::StopParams stop)
        : model_(model), sampling_(std::move(sampling)), output_(std::move(stop)) {
        for (Token token = 0; sampling_.ignore_eos && token < FakeTextModel::kVocab; ++token) {
            if (model.is_eog(token)) {
                sampling_.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
            }
        }
    }

    void begin(std::span<const Token> /*prompt*/) override {}

    text::Piece next(std::span<const float> logits, const text::StepFacts& facts) override {
        row_.assign(logits.begin(), logits.end());
        for (const text::LogitBias& entry : sampling_.logit_bias) {
            if (const auto i = static_cast<std::size_t>(entry.token); i < row_.size()) {
                row_[i] += entry.bias;
            }
        }
        text::Piece piece;
        piece.token = text::best_of(row_).candidate.token;
        output_.push(model_.piece(piece.token, false), model_.is_eog(piece.token), facts, piece);
        if (sampling_.n_probs > 0) {
            piece.probs.push_back(probs_of(piece.token, logits));
        }
        return piece;
    }

    [[nodiscard]] bool has_new_line() const override { return output_.has_new_line(); }

  private:
    [[nodiscard]] text::TokenProbs probs_of(Token chosen, std::span<const float> logits) const {
        const double sum = text::log_sum_exp(logits);
        const auto prob_of = [&](Token token) {
            const float logit = logits[static_cast<std::size_t>(token)];
            return text::TokenProb{token, model_.piece(token, true), text::log_prob(logit, sum)};
        };
        std::vector<text::Candidate> best;
        text::top_k_of(logits,
                       std::min<std::size_t>(static_cast<std::size_t>(sampling_.n_probs), text::kMaxSelect),
                       best);
        text::TokenProbs out;
        out.chosen = prob_of(chosen);
        for (const text::Candidate& candidate : best) {
            out.top.push_back(prob_of(candidate.token));
        }
        return out;
    }

    const FakeTextModel& model_;
    text::SamplingParams sampling_;
    text::OutputText output_;
    std::vector<float> row_;
};

}  // namespace

FakeTextModel::FakeTextModel() {
    info_.path = "fake.gguf";
    info_.description = "fake bytes";
    info_.ftype = "F32";
    info_.chat_template = "fake";
    info_.bos_text = kSpecials[0];
    info_.eos_text = kSpecials[1];
    info_.n_vocab = kVocab;
    info_.n_ctx_train = 4096;
    info_.n_embd = 8;
    info_.n_params = 1000;
    info_.size_bytes = 4000;
}

Result<std::vector<Token>> FakeTextModel::tokenize(std::string_view text, bool add_special,
                                                   bool parse_special) const {
    if (text.size() > kMaxText) {
        return make_error(ErrorKind::invalid_request, "The text is too large for the tokenizer");
    }
    std::vector<Token> tokens;
    if (add_special) {
        tokens.push_back(kBos);
    }
    while (!text.empty()) {
        const Token special = parse_special ? special_at(text) : -1;
        tokens.push_back(special >= 0 ? special
                                      : static_cast<Token>(static_cast<unsigned char>(text.front())));
        text.remove_prefix(special >= 0 ? kSpecials[static_cast<std::size_t>(special - kBos)].size() : 1);
    }
    return tokens;
}

std::string FakeTextModel::piece(Token token, bool special) const {
    if (token < kBos) {
        return std::string(1, static_cast<char>(token));
    }
    return special ? std::string(kSpecials[static_cast<std::size_t>(token - kBos)]) : std::string{};
}

std::string FakeTextModel::detokenize(std::span<const Token> tokens, bool special) const {
    std::string text;
    for (const Token token : tokens) {
        text += piece(token, special);
    }
    return text;
}

Result<std::string> FakeTextModel::apply_template(std::span<const text::ChatMessage> messages,
                                                  bool add_assistant) const {
    std::string prompt;
    for (const text::ChatMessage& message : messages) {
        prompt += "<|turn|>" + message.role + "\n" + message.content + "<|end|>";
    }
    return add_assistant ? prompt + "<|turn|>assistant\n" : prompt;
}

Result<std::unique_ptr<text::Generation>> FakeTextModel::make_generation(const text::SamplingParams& sampling,
                                                                         const text::StopParams& stop,
                                                                         std::int32_t /*n_ctx*/) const {
    if (!(sampling.repeat_penalty > 0.0F)) {
        return make_error(ErrorKind::invalid_request,
                          "Failed to initialize samplers: repeat_penalty must be above 0");
    }
    if (!sampling.grammar.empty() && sampling.grammar.find("root") == std::string::npos) {
        return make_error(ErrorKind::invalid_request, "Field 'grammar': has no rule root");
    }
    if (const Status status = text::check_stop_params(stop); !status.ok()) {
        return status.error();
    }
    {
        const std::lock_guard lock(mutex_);
        if (seeds_.size() < kSeedsKept) {
            seeds_.push_back(sampling.seed);
        }
    }
    return std::unique_ptr<text::Generation>(std::make_unique<FakeGeneration>(*this, sampling, stop));
}

std::vector<std::uint32_t> FakeTextModel::seeds() const {
    const std::lock_guard lock(mutex_);
    return seeds_;
}

}  // namespace kvalet::test
