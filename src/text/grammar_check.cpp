#include "text/grammar_check.h"

#include <algorithm>
#include <string>

namespace kvalet::text {

namespace {

Error refuse(const std::string& why) {
    return make_error(ErrorKind::invalid_request,
                      "Failed to initialize samplers: failed to parse grammar (field 'grammar' " + why + ")");
}

/// The end of the string, character class or comment that begins at `i`.
std::size_t skip_quoted(std::string_view text, std::size_t i) {
    if (text[i] == '#') {
        return std::min(text.find_first_of("\r\n", i), text.size());
    }
    const char end = text[i] == '"' ? '"' : ']';
    for (++i; i < text.size() && text[i] != end; ++i) {
        if (text[i] == '\\') {
            ++i;
        }
    }
    return i;
}

std::size_t deepest_nesting(std::string_view text) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' || c == '[' || c == '#') {
            i = skip_quoted(text, i);
        } else if (c == '(') {
            deepest = std::max(deepest, ++depth);
        } else if (c == ')' && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

}  // namespace

Status check_grammar_limits(std::string_view grammar) {
    if (grammar.size() > kMaxGrammarBytes) {
        return refuse("has more than " + std::to_string(kMaxGrammarBytes) + " bytes");
    }
    if (grammar.find('\0') != std::string_view::npos) {
        return refuse("holds a NUL byte");
    }
    if (deepest_nesting(grammar) > kMaxGrammarNesting) {
        return refuse("nests parentheses more than " + std::to_string(kMaxGrammarNesting) + " deep");
    }
    return Unit{};
}

}  // namespace kvalet::text
