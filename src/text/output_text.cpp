#include "text/output_text.h"

#include <utility>

#include "core/assert.h"
#include "text/utf8.h"

namespace kvalet::text {

Status check_stop_params(const StopParams& stop) {
    std::size_t bytes = 0;
    for (const std::string& word : stop.stop) {
        bytes += word.size();
    }
    if (bytes > kMaxStopBytes) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'stop': the stop strings have " + std::to_string(bytes) +
                              " bytes together, at most " + std::to_string(kMaxStopBytes) + " are allowed");
    }
    return Unit{};
}

OutputText::OutputText(StopParams stop) : params_(std::move(stop)), matcher_(params_.stop) {}

void OutputText::push(std::string_view bytes, bool is_eog, const StepFacts& facts, Piece& piece) {
    ++n_decoded_;
    pending_.append(bytes);
    piece.text.clear();
    piece.stop = StopType::none;
    piece.stopping_word.clear();

    const auto match = matcher_.push(bytes);
    if (match) {
        KVALET_ASSERT(match->begin >= sent_, "text that could become a stop string was sent");
        pending_.resize(static_cast<std::size_t>(match->begin - sent_));
        piece.stop = StopType::word;
    }
    piece.truncated = facts.context_full;
    if (facts.context_full) {
        piece.stop = StopType::limit;
    }
    if (piece.stop == StopType::none && params_.n_predict >= 0 && n_decoded_ >= params_.n_predict) {
        piece.stop = StopType::limit;
    }
    if (is_eog) {
        piece.stop = StopType::eos;
    }

    take(piece.stop == StopType::none ? held_back() : 0, piece.text);
    const StopType limit = is_eog ? StopType::eos : StopType::limit;
    if (const std::size_t end = indented_end(piece.text); end < piece.text.size()) {
        piece.text.resize(end);
        pending_.clear();
        piece.stop = limit;
    }
    if (piece.text.find('\n') != std::string::npos) {
        has_new_line_ = true;
        if (params_.t_max_predict_ms > 0 && facts.predict_us > params_.t_max_predict_ms * 1000) {
            piece.stop = limit;
            take(0, piece.text);
        }
    }
    if (piece.stop == StopType::word) {
        piece.stopping_word = params_.stop[match->word];
    }
    piece.incomplete_utf8 =
        piece.stop == StopType::none && piece.text.empty() && incomplete_utf8_suffix(pending_) > 0;
}

std::size_t OutputText::held_back() const {
    const std::size_t cut_off = incomplete_utf8_suffix(pending_);
    if (cut_off > 0 && pending_.size() <= kMaxHeldForUtf8) {
        return pending_.size();  // no event is made for such a token, so it must carry no text
    }
    std::size_t held = matcher_.held();
    KVALET_ASSERT(held <= pending_.size(), "text that could become a stop string was sent");
    held += incomplete_utf8_suffix(std::string_view(pending_).substr(0, pending_.size() - held));
    return held;
}

void OutputText::take(std::size_t n_held, std::string& out) {
    const std::size_t n = pending_.size() - n_held;
    out.append(pending_, 0, n);
    pending_.erase(0, n);
    sent_ += n;
}

/// Where the first line begins that is indented too little; text.size() if none does.
std::size_t OutputText::indented_end(std::string_view text) {
    if (params_.n_indent <= 0) {
        return text.size();
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_indent_ && (c == ' ' || c == '\t')) {
            ++indent_;
            continue;
        }
        if (in_indent_ && indent_ < params_.n_indent) {
            return i;
        }
        in_indent_ = c == '\n';
        indent_ = 0;
    }
    return text.size();
}

}  // namespace kvalet::text
