#include "text/stop_matcher.h"

#include "core/assert.h"

namespace kvalet::text {

StopMatcher::StopMatcher(std::span<const std::string> words) : nodes_(1) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        bytes += words[i].size();
        KVALET_ASSERT(bytes <= kMaxStopBytes,
                      "the size of the stop strings is checked where a request comes in");
        add(words[i], i);
    }
    link();
}

std::optional<StopMatcher::NodeId> StopMatcher::child(NodeId node, char c) const {
    for (const auto& [byte, target] : nodes_[node].next) {
        if (byte == c) {
            return target;
        }
    }
    return std::nullopt;
}

void StopMatcher::add(const std::string& text, std::size_t index) {
    if (text.empty()) {
        return;
    }
    NodeId at = kRoot;
    for (const char c : text) {
        if (const auto next = child(at, c)) {
            at = *next;
            continue;
        }
        const auto made = static_cast<NodeId>(nodes_.size());
        nodes_[at].next.emplace_back(c, made);
        nodes_.emplace_back().depth = nodes_[at].depth + 1;
        at = made;
    }
    if (nodes_[at].word == kNoWord) {  // a word that is listed twice counts where it is listed first
        nodes_[at].word = index;
        nodes_[at].word_size = static_cast<std::uint32_t>(text.size());
    }
}

void StopMatcher::link() {
    // Breadth first: a node's failure link points to a shallower node, which is complete by then.
    std::vector<NodeId> queue{kRoot};
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const NodeId parent = queue[i];
        for (const auto& [c, node] : nodes_[parent].next) {
            NodeId fail = nodes_[parent].fail;
            while (parent != kRoot && fail != kRoot && !child(fail, c)) {
                fail = nodes_[fail].fail;
            }
            if (parent != kRoot) {
                nodes_[node].fail = child(fail, c).value_or(kRoot);
            }
            if (nodes_[node].word == kNoWord) {
                nodes_[node].word = nodes_[nodes_[node].fail].word;
                nodes_[node].word_size = nodes_[nodes_[node].fail].word_size;
            }
            queue.push_back(node);
        }
    }
}

void StopMatcher::step(char c) {
    for (;;) {
        if (const auto next = child(state_, c)) {
            state_ = *next;
            return;
        }
        if (state_ == kRoot) {
            return;
        }
        state_ = nodes_[state_].fail;
    }
}

std::optional<StopMatcher::Match> StopMatcher::push(std::string_view piece) {
    if (nodes_.size() == 1) {
        seen_ += piece.size();
        return std::nullopt;
    }
    std::optional<Match> first;
    for (const char c : piece) {
        step(c);
        ++seen_;
        const Node& node = nodes_[state_];
        if (node.word == kNoWord) {
            continue;
        }
        // Of the words that end here only the longest can begin first.
        const Match match{seen_ - node.word_size, node.word};
        if (!first || match.begin < first->begin ||
            (match.begin == first->begin && match.word < first->word)) {
            first = match;
        }
    }
    return first;
}

}  // namespace kvalet::text
