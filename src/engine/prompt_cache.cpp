#include "engine/prompt_cache.h"

#include <algorithm>
#include <utility>

namespace kvalet::engine {

Tokens common_prefix(std::span<const Token> a, std::span<const Token> b) {
    const std::size_t n = std::min(a.size(), b.size());
    const auto end = std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first;
    return Tokens{end - a.begin()};
}

namespace {

bool begins_with(std::span<const Token> all, std::span<const Token> first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

}  // namespace

PromptCache::PromptCache(std::int64_t budget_bytes, ParkStore::Allocate allocate)
    : store_(budget_bytes, std::move(allocate)) {}

bool PromptCache::holds(std::span<const Token> tokens) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& e) { return begins_with(e.tokens, tokens); });
}

std::optional<ParkStore::Buffer> PromptCache::make_room(Bytes size) {
    if (!store_.allows(size)) {
        return std::nullopt;  // no other entry goes for one that cannot stay
    }
    while (!entries_.empty() && (entries_.size() >= kMaxEntries || !store_.allows(held() + size))) {
        drop(0);
    }
    return store_.take(size);
}

void PromptCache::put(std::vector<Token> tokens, ParkStore::Buffer bytes) {
    std::erase_if(entries_, [&](const Entry& e) { return begins_with(tokens, e.tokens); });
    entries_.push_back(Entry{std::move(tokens), std::move(bytes)});
}

std::optional<PromptCache::Match> PromptCache::best(std::span<const Token> prompt, Tokens more_than) const {
    std::optional<Match> found;
    for (std::size_t i = entries_.size(); i > 0; --i) {
        const Entry& e = entries_[i - 1];
        const Tokens shared = common_prefix(e.tokens, prompt);
        const bool worth = shared.value() * kLeastShare >= static_cast<std::int64_t>(e.tokens.size());
        if (worth && shared > (found ? found->shared : more_than)) {
            found = Match{i - 1, shared};
        }
    }
    return found;
}

void PromptCache::drop(std::size_t index) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace kvalet::engine
