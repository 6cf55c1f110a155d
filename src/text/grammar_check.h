// What a GBNF grammar must keep to before libllama's parser sees it. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/result.h"

namespace kvalet::text {

/// libllama's parser and its check for left recursion recurse, and a request must not exhaust the stack of
/// the thread that parses it.
constexpr std::size_t kMaxGrammarBytes = 256U * 1024U;
constexpr std::size_t kMaxGrammarNesting = 256;

/// invalid_request, naming `grammar`, when it is larger, holds a NUL byte, or nests parentheses deeper.
[[nodiscard]] Status check_grammar_limits(std::string_view grammar);

}  // namespace kvalet::text
