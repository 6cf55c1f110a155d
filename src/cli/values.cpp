#include "cli/values.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

namespace kvalet::cli {

namespace {

/// Values in messages are cut here.
constexpr std::size_t kMaxMessageBytes = 60;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::optional<char> hex_byte(std::string_view digits) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return static_cast<char>(value);
}

std::optional<char> simple_escape(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case '\'':
        case '"':
        case '\\':
            return c;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<std::int64_t> integer_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> bytes_of_mib(std::string_view text) {
    const auto mib = integer_of(text);
    if (!mib || *mib < -1 || *mib > INT64_MAX / sched::kMiB) return std::nullopt;
    return *mib == -1 ? sched::kUnlimited : *mib * sched::kMiB;
}

std::optional<float> number_of(std::string_view text) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::optional<bool> switch_of(std::string_view text) {
    if (text == "on" || text == "enabled" || text == "true" || text == "1") return true;
    if (text == "off" || text == "disabled" || text == "false" || text == "0") return false;
    return std::nullopt;
}

std::optional<Toggle> toggle_of(std::string_view text) {
    if (text == "auto" || text == "-1") return Toggle::automatic;
    const std::optional<bool> on = switch_of(text);
    if (!on) return std::nullopt;
    return *on ? Toggle::on : Toggle::off;
}

std::string trim(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return std::string(text);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        parts.emplace_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words = split(text, ' ');
    std::erase(words, std::string());
    return words;
}

std::vector<std::string> split_commas(std::string_view text) {
    std::vector<std::string> fields;
    std::string field;
    bool in_quotes = false;
    const auto finish = [&] {
        if (std::string trimmed = trim(field); !trimmed.empty()) fields.push_back(std::move(trimmed));
        field.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            if (in_quotes && i + 1 < text.size() && text[i + 1] == '"') {
                field += '"';
                ++i;
            } else {
                in_quotes = !in_quotes;
            }
        } else if (c == ',' && !in_quotes) {
            finish();
        } else {
            field += c;
        }
    }
    finish();
    return fields;
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
    std::string text;
    for (const std::string& part : parts) {
        if (!text.empty()) text += between;
        text += part;
    }
    return text;
}

std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        if (const std::optional<char> c = simple_escape(text[i + 1])) {
            out += *c;
            i += 1;
        } else if (const std::optional<char> byte = text[i + 1] == 'x' && i + 3 < text.size()
                                                        ? hex_byte(text.substr(i + 2, 2))
                                                        : std::nullopt) {
            out += *byte;
            i += 3;
        } else {
            out += '\\';
        }
    }
    return out;
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return expected("a file that can be read");
    std::string bytes;
    char block[4096];
    while (file.read(block, sizeof block) || file.gcount() > 0) {
        bytes.append(block, static_cast<std::size_t>(file.gcount()));
        if (bytes.size() > kMaxOptionFileBytes) {
            return expected("a file of at most " + std::to_string(kMaxOptionFileBytes >> 20U) + " MiB");
        }
    }
    if (file.bad() || !file.eof()) return expected("a file that can be read");
    return bytes;
}

std::string in_message(std::string_view text) {
    std::string out = "'";
    for (const char c : text.substr(0, kMaxMessageBytes)) {
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    if (text.size() > kMaxMessageBytes) out += "...";
    return out + "'";
}

std::string range_text(std::int64_t low, std::int64_t high) {
    if (high == INT32_MAX || high == INT64_MAX) return "a whole number of at least " + std::to_string(low);
    return "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace kvalet::cli
