// From words to values: what flags, variables and config files have in common.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flag.h"

namespace kvalet::cli {

/// The whole text is a decimal integer of 64 bits.
[[nodiscard]] std::optional<std::int64_t> integer_of(std::string_view text);
/// The text is a number of MiB, -1 for no limit (sched::kUnlimited).
[[nodiscard]] std::optional<std::int64_t> bytes_of_mib(std::string_view text);
/// The whole text is a finite decimal number that a float can hold.
[[nodiscard]] std::optional<float> number_of(std::string_view text);
/// on enabled true 1 / off disabled false 0.
[[nodiscard]] std::optional<bool> switch_of(std::string_view text);
/// on / off as above, or auto / -1.
[[nodiscard]] std::optional<Toggle> toggle_of(std::string_view text);

/// Fields between commas, without the blanks around them; empty fields are left out. A field in double quotes
/// may hold commas, and "" there is one quote.
[[nodiscard]] std::vector<std::string> split_commas(std::string_view text);
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
/// What stands between blanks.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);
[[nodiscard]] std::string trim(std::string_view text);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view between);

/// \n \r \t \' \" \\ and \xHH become what they stand for; every other backslash stays.
[[nodiscard]] std::string unescape(std::string_view text);

/// The file's bytes, at most `kMaxOptionFileBytes` of them.
constexpr std::size_t kMaxOptionFileBytes = 16U << 20U;
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// A value for a message: one line, not too long.
[[nodiscard]] std::string in_message(std::string_view text);

[[nodiscard]] inline Error expected(std::string what) {
    return make_error(ErrorKind::invalid_request, "expected " + std::move(what));
}

// ---- makers of setters. `field` is a function from ServeOptions& to the field it sets.

template <class Field>
[[nodiscard]] Setter as_text(Field field) {
    return [field](ServeOptions& o, const std::string& value) -> Status {
        field(o) = value;
        return Unit{};
    };
}

template <class Field>
[[nodiscard]] Setter as_switch(Field field) {
    return [field](ServeOptions& o, const std::string& value) -> Status {
        const std::optional<bool> on = switch_of(value);
        if (!on) return expected("on, enabled, true, 1, off, disabled, false or 0");
        field(o) = *on;
        return Unit{};
    };
}

/// "a whole number of at least 1" and the like.
[[nodiscard]] std::string range_text(std::int64_t low, std::int64_t high);

/// Bytes, given in MiB.
template <class Field>
[[nodiscard]] Setter as_mib(Field field) {
    return [field](ServeOptions& o, const std::string& value) -> Status {
        const std::optional<std::int64_t> bytes = bytes_of_mib(value);
        if (!bytes) return expected("MiB: -1 for no limit, 0 for none, or a number");
        field(o) = *bytes;
        return Unit{};
    };
}

template <class Field>
[[nodiscard]] Setter as_integer(Field field, std::int64_t low, std::int64_t high = INT32_MAX) {
    return [field, low, high](ServeOptions& o, const std::string& value) -> Status {
        const std::optional<std::int64_t> n = integer_of(value);
        if (!n || *n < low || *n > high) return expected(range_text(low, high));
        using Target = std::remove_reference_t<decltype(field(o))>;
        if constexpr (std::integral<Target>) {
            field(o) = static_cast<Target>(*n);
        } else {
            field(o) = Target{*n};
        }
        return Unit{};
    };
}

/// `what` describes the numbers that `good` lets pass.
template <class Field, class Good>
[[nodiscard]] Setter as_number(Field field, std::string what, Good good) {
    return [field, what = std::move(what), good](ServeOptions& o, const std::string& value) -> Status {
        const std::optional<float> x = number_of(value);
        if (!x || !good(*x)) return expected(what);
        field(o) = *x;
        return Unit{};
    };
}

template <class Field>
[[nodiscard]] Setter as_number(Field field) {
    return as_number(field, "a number", [](float) { return true; });
}

template <class Field, class Value>
[[nodiscard]] Setter as_choice(Field field, std::vector<std::pair<std::string, Value>> choices) {
    return [field, choices = std::move(choices)](ServeOptions& o, const std::string& value) -> Status {
        std::vector<std::string> words;
        for (const auto& [word, meaning] : choices) {
            if (word == value) {
                field(o) = meaning;
                return Unit{};
            }
            words.push_back(word);
        }
        return expected("one of " + join(words, ", "));
    };
}

}  // namespace kvalet::cli
