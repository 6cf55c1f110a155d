#include "cli/spellings.h"

#include <algorithm>
#include <numeric>

#include "cli/values.h"

namespace kvalet::cli {

namespace {

std::string with_dashes(std::string_view written) {
    std::string name(written);
    if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::string_view without_dashes(std::string_view written) {
    while (written.starts_with('-')) written.remove_prefix(1);
    return written;
}

/// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

Spellings::Spellings() {
    for (const Flag& flag : all_flags()) {
        add("--" + flag.name, {&flag, nullptr, false});
        for (const std::string& other : flag.others) add(other, {&flag, nullptr, false});
        for (const std::string& negative : flag.negative) add(negative, {&flag, nullptr, true});
        if (!flag.variable.empty()) by_key_[flag.variable] = {&flag, nullptr, false};
        if (!flag.negative.empty() && !negative_variable(flag.variable).empty()) {
            by_key_[negative_variable(flag.variable)] = {&flag, nullptr, true};
        }
    }
    for (const NotYet& flag : not_yet_flags()) {
        for (const std::string& name : words_of(flag.names)) add(name, {nullptr, &flag, false});
        for (const std::string& negative : words_of(flag.negative)) add(negative, {nullptr, &flag, true});
        if (!flag.variable.empty()) by_key_[std::string(flag.variable)] = {nullptr, &flag, false};
    }
}

void Spellings::add(const std::string& written, Spelling spelling) {
    const bool added = by_spelling_.emplace(written, spelling).second;
    KVALET_ASSERT(added, "a flag has two meanings");
    by_key_.emplace(std::string(without_dashes(written)), spelling);
}

const Spelling* Spellings::find(std::string_view written) const {
    const auto found = by_spelling_.find(with_dashes(written));
    return found == by_spelling_.end() ? nullptr : &found->second;
}

const Spelling* Spellings::find_key(std::string_view key) const {
    if (const auto found = by_key_.find(key); found != by_key_.end()) return &found->second;
    std::string dashed(key);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    const auto found = by_key_.find(dashed);
    return found == by_key_.end() ? nullptr : &found->second;
}

std::size_t Spellings::equals_of(std::string_view argument) const {
    const std::size_t at = argument.find('=');
    if (at == std::string_view::npos || find(argument.substr(0, at)) == nullptr)
        return std::string_view::npos;
    return at;
}

std::string Spellings::nearest(std::string_view written) const {
    const std::string name = with_dashes(written.substr(0, written.find('=')));
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, name.size() / 4) + 1;
    for (const auto& [spelling, meaning] : by_spelling_) {
        if (!spelling.starts_with("--")) continue;
        if (const std::size_t d = distance(name, spelling); d < best_distance) {
            best = spelling;
            best_distance = d;
        }
    }
    return best;
}

const Spellings& spellings() {
    static const Spellings built;
    return built;
}

std::string negative_variable(std::string_view variable) {
    constexpr std::string_view prefix = "LLAMA_ARG_";
    if (!variable.starts_with(prefix)) return {};
    return "LLAMA_ARG_NO_" + std::string(variable.substr(prefix.size()));
}

std::string inverted(const std::string& value) {
    const std::optional<bool> on = switch_of(value);
    if (!on) return value;
    return *on ? "off" : "on";
}

}  // namespace kvalet::cli
