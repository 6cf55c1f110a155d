// Strong types for ids and counts. They cost nothing and stop a slot from being used as a task, or bytes as
// cells.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace kvalet {

/// An integer with a meaning. Counts (arithmetic = true) can be added and subtracted, ids can only be
/// compared.
template <class Tag, class Rep, bool arithmetic>
class Strong {
  public:
    using rep = Rep;
    constexpr Strong() = default;
    constexpr explicit Strong(Rep v) : value_(v) {}
    [[nodiscard]] constexpr Rep value() const { return value_; }
    constexpr auto operator<=>(const Strong&) const = default;

    constexpr Strong& operator+=(Strong o) requires arithmetic {
        value_ = static_cast<Rep>(value_ + o.value_);
        return *this;
    }
    constexpr Strong& operator-=(Strong o) requires arithmetic {
        value_ = static_cast<Rep>(value_ - o.value_);
        return *this;
    }
    friend constexpr Strong operator+(Strong a, Strong b) requires arithmetic { return a += b; }
    friend constexpr Strong operator-(Strong a, Strong b) requires arithmetic { return a -= b; }

  private:
    Rep value_{};
};

/// One generation, in order of arrival: a smaller id is an older task. Never reused.
using TaskId = Strong<struct TaskIdTag, std::uint64_t, false>;
/// A place that holds one sequence, 0 .. slots-1. It is the libllama sequence id as well.
using SlotId = Strong<struct SlotIdTag, std::int32_t, false>;
/// Room for one token of one sequence in the KV pool.
using Cells = Strong<struct CellsTag, std::int64_t, true>;
/// A number of tokens (prompt, generated or to be fed).
using Tokens = Strong<struct TokensTag, std::int64_t, true>;
/// Host memory.
using Bytes = Strong<struct BytesTag, std::int64_t, true>;

/// A token of the vocabulary (llama_token).
using Token = std::int32_t;

/// A token takes one cell.
[[nodiscard]] constexpr Cells cells_of(Tokens n) {
    return Cells{n.value()};
}

constexpr SlotId kNoSlot{-1};

}  // namespace kvalet

template <class Tag, class Rep, bool arithmetic>
struct std::hash<kvalet::Strong<Tag, Rep, arithmetic>> {
    std::size_t operator()(const kvalet::Strong<Tag, Rep, arithmetic>& v) const noexcept {
        return std::hash<Rep>{}(v.value());
    }
};
