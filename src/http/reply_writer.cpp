#include "http/reply_writer.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <utility>

#include "core/assert.h"

namespace kvalet::http {

namespace {

constexpr std::array<std::pair<int, std::string_view>, 31> kReasons{{
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Payload Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

void append_clean(std::string& out, std::string_view text) {
    for (char c : text) {
        out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    }
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    append_clean(out, name);
    out += ": ";
    append_clean(out, value);
    out += "\r\n";
}

bool is_ours(std::string_view name) {
    return iequals(name, "Content-Length") || iequals(name, "Transfer-Encoding") ||
           iequals(name, "Connection") || iequals(name, "Date");
}

}  // namespace

std::string_view reason_phrase(int status) {
    const auto* const known = std::find_if(kReasons.begin(), kReasons.end(),
                                           [&](const auto& entry) { return entry.first == status; });
    return known == kReasons.end() ? "Unknown" : known->second;
}

bool status_has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

std::string make_head(const HeadParts& parts, std::string_view content_type, const Headers& headers) {
    std::string head = "HTTP/1.1 " + std::to_string(parts.status) + " ";
    head += reason_phrase(parts.status);
    head += "\r\n";
    if (!content_type.empty()) {
        append_header(head, "Content-Type", content_type);
    }
    if (parts.framing == Framing::length) {
        append_header(head, "Content-Length", std::to_string(parts.length));
    } else if (parts.framing == Framing::chunked) {
        append_header(head, "Transfer-Encoding", "chunked");
    }
    for (const Header& h : headers) {
        if (!is_ours(h.name)) {
            append_header(head, h.name, h.value);
        }
    }
    if (!parts.date.empty()) {
        append_header(head, "Date", parts.date);
    }
    if (!parts.keep_alive) {
        append_header(head, "Connection", "close");
    } else if (parts.is_http_1_0) {
        append_header(head, "Connection", "keep-alive");
    }
    head += "\r\n";
    return head;
}

std::string http_date(std::chrono::system_clock::time_point now) {
    static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    // strftime would use the words of the process's locale.
    std::array<char, 64> text{};
    const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                   kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                                   kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900,
                                   utc.tm_hour, utc.tm_min, utc.tm_sec);
    return {text.data(), static_cast<std::size_t>(size)};
}

std::string chunk_head(std::size_t bytes) {
    KVALET_ASSERT(bytes > 0, "an empty chunk ends the body");
    std::array<char, 2 * sizeof(bytes)> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
    std::string head(digits.data(), end);
    head += "\r\n";
    return head;
}

std::array<std::string_view, 3> Outgoing::left() const {
    std::array<std::string_view, 3> views;
    std::size_t skip = written_;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::size_t cut = std::min(skip, parts_[i].size());
        views[i] = std::string_view{parts_[i]}.substr(cut);
        skip -= cut;
    }
    return views;
}

bool Outgoing::empty() const {
    return parts_[0].size() + parts_[1].size() + parts_[2].size() == written_;
}

void Outgoing::advance(std::size_t bytes) {
    written_ += bytes;
    KVALET_ASSERT(written_ <= parts_[0].size() + parts_[1].size() + parts_[2].size(),
                  "more written than there was");
}

}  // namespace kvalet::http
