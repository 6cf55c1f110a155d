#include "api/collector.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace kvalet::api {

void Collector::fail(Error error) {
    error_ = std::move(error);
    done_ = true;
}

void Collector::take_piece(text::Piece piece) {
    bytes_ += piece.text.size() + sizeof(Token);
    for (const text::TokenProbs& entry : piece.probs) {
        bytes_ += sizeof(entry) + entry.top.size() * sizeof(text::TokenProb);
    }
    if (bytes_ > max_bytes_) {
        fail(make_error(ErrorKind::server, "The reply is larger than " + std::to_string(max_bytes_) +
                                               " bytes; stream it, or ask for fewer n_probs"));
        return;
    }
    result_.content += piece.text;
    if (keep_tokens_) {
        result_.tokens.push_back(piece.token);
    }
    for (text::TokenProbs& entry : piece.probs) {
        result_.probs.push_back(std::move(entry));
    }
}

void Collector::take(engine::Event event) {
    if (done_) {
        return;
    }
    if (auto* token = std::get_if<engine::TokenOut>(&event)) {
        take_piece(std::move(token->piece));
    } else if (auto* end = std::get_if<engine::Finished>(&event)) {
        result_.end = std::move(*end);
        done_ = true;
    } else if (auto* failed = std::get_if<engine::Failed>(&event)) {
        fail(std::move(failed->error));
    }
}

TaskResult Collector::finish(const text::TextModel& model) && {
    KVALET_ASSERT(done_ && !error_, "the result of a generation that has not finished was asked for");
    if (result_.end.stop == text::StopType::word && !result_.probs.empty()) {
        const auto word = model.tokenize(result_.end.stopping_word, false, false);
        const std::size_t n = word.ok() ? std::min(word->size(), result_.probs.size()) : 0;
        result_.probs.resize(result_.probs.size() - n);
    }
    return std::move(result_);
}

}  // namespace kvalet::api
