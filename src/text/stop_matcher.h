// Finds stop strings in a text that arrives in pieces. Pure, std only.
//
// An Aho-Corasick automaton: each byte is looked at once, whatever the number of stop strings, and its state
// says at any time how much of the text's end could still become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvalet::text {

/// What all stop strings of one request may weigh together; the automaton takes some 50 bytes for each.
constexpr std::size_t kMaxStopBytes = 64U * 1024U;

class StopMatcher {
  public:
    struct Match {
        std::uint64_t begin = 0;  // bytes of text before the stop string, counted from the first push()
        std::size_t word = 0;     // index into the words
    };

    /// Empty words are ignored. At most kMaxStopBytes together.
    explicit StopMatcher(std::span<const std::string> words);

    /// Takes the next piece. The stop string that begins first in the text (of several that begin at the same
    /// place, the one that comes first in the list) if this piece completes one or more. After a match the
    /// matcher is spent.
    std::optional<Match> push(std::string_view piece);

    /// How many bytes at the end of the text could be the beginning of a stop string.
    [[nodiscard]] std::size_t held() const { return nodes_[state_].depth; }

  private:
    using NodeId = std::uint32_t;
    static constexpr NodeId kRoot = 0;
    static constexpr std::size_t kNoWord = static_cast<std::size_t>(-1);

    struct Node {
        std::vector<std::pair<char, NodeId>> next;
        NodeId fail = kRoot;
        std::uint32_t depth = 0;
        std::size_t word = kNoWord;  // longest word that ends here
        std::uint32_t word_size = 0;
    };

    [[nodiscard]] std::optional<NodeId> child(NodeId node, char c) const;
    void add(const std::string& text, std::size_t index);
    void link();
    void step(char c);

    std::vector<Node> nodes_;
    NodeId state_ = kRoot;
    std::uint64_t seen_ = 0;
};

}  // namespace kvalet::text
