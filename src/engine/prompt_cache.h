// Prompt caches of idle slots in host memory (--cache-ram, llama-server-api 3.2): what an idle slot holds is
// put aside here when others need its cells, or only its width in their attention, and comes back when a
// prompt begins like it.
//
// Thread: the engine thread alone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "engine/park_store.h"

namespace kvalet::engine {

class PromptCache {
  public:
    struct Entry {
        std::vector<Token> tokens;  // all whose KV the bytes bring back
        ParkStore::Buffer bytes;
    };
    struct Match {
        std::size_t index = 0;
        Tokens shared;  // first tokens that prompt and entry have in common
    };

    /// Entries at most, whatever the budget: each is compared with every prompt that comes in.
    static constexpr std::size_t kMaxEntries = 1024;
    /// An entry of which a prompt shares less than one part in so many is not worth its copy.
    static constexpr std::int64_t kLeastShare = 4;

    /// budget_bytes: 0: off; sched::kUnlimited: no limit.
    PromptCache(std::int64_t budget_bytes, ParkStore::Allocate allocate);

    [[nodiscard]] bool enabled() const { return store_.allows(Bytes{1}); }
    /// Whether some entry begins with all of these tokens.
    [[nodiscard]] bool holds(std::span<const Token> tokens) const;
    /// Memory for one more entry; the oldest ones go until it fits. Nothing when it fits in no case, or
    /// memory was refused.
    [[nodiscard]] std::optional<ParkStore::Buffer> make_room(Bytes size);
    /// Becomes the newest entry. Those that it contains go.
    void put(std::vector<Token> tokens, ParkStore::Buffer bytes);
    /// The entry that shares most with the prompt, and more than `more_than` tokens; the newest of equals.
    [[nodiscard]] std::optional<Match> best(std::span<const Token> prompt, Tokens more_than) const;
    [[nodiscard]] const Entry& at(std::size_t index) const { return entries_[index]; }
    void drop(std::size_t index);

    [[nodiscard]] Bytes held() const { return store_.held(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    ParkStore store_;             // outlives the entries
    std::vector<Entry> entries_;  // oldest first
};

/// First tokens that both have in common.
[[nodiscard]] Tokens common_prefix(std::span<const Token> a, std::span<const Token> b);

}  // namespace kvalet::engine
