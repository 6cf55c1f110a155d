#include "http/request_reader.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "http/url.h"

namespace kvalet::http {

namespace beast = boost::beast;
using beast::error_code;

namespace {

/// A body type of our own, because Beast's string_body allocates the announced length at once: a header of a
/// few bytes must not reserve megabytes. It also holds the limit, so that a length and chunks are counted in
/// one place.
struct BoundedBody {
    struct value_type {
        std::string bytes;
        std::size_t max_bytes = 0;
    };

    class reader {
      public:
        template <bool is_request, class Fields>
        explicit reader(beast::http::header<is_request, Fields>&, value_type& value) : value_(value) {}
        void init(const boost::optional<std::uint64_t>&, error_code& ec) { ec = {}; }
        template <class Buffers>
        std::size_t put(const Buffers& buffers, error_code& ec) {
            std::size_t taken = 0;
            for (auto it = boost::asio::buffer_sequence_begin(buffers);
                 it != boost::asio::buffer_sequence_end(buffers); ++it) {
                const boost::asio::const_buffer piece = *it;
                if (piece.size() > value_.max_bytes - value_.bytes.size()) {
                    ec = beast::http::error::body_limit;
                    return taken;
                }
                value_.bytes.append(static_cast<const char*>(piece.data()), piece.size());
                taken += piece.size();
            }
            ec = {};
            return taken;
        }
        void finish(error_code& ec) { ec = {}; }

      private:
        value_type& value_;
    };
};

using Parser = beast::http::request_parser<BoundedBody>;
using beast::http::field;

std::string to_string(beast::string_view text) {
    return {text.data(), text.size()};
}

bool is_token_char(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

/// What can be said of a request line before the headers are there. Beast looks at it only once it has the
/// empty line, but whoever speaks TLS or HTTP/0.9 or ends its lines with a bare LF will never send that, and
/// would be told after a timeout.
bool may_become_request_line(std::string_view bytes) {
    if (bytes.empty()) {
        return true;
    }
    if (!is_token_char(bytes.front())) {
        return false;
    }
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) {
        return true;
    }
    if (newline == 0 || bytes[newline - 1] != '\r') {
        return false;
    }
    const std::string_view line = bytes.substr(0, newline - 1);
    return std::count(line.begin(), line.end(), ' ') == 2 && line.find(" HTTP/1.") != std::string_view::npos;
}

}  // namespace

struct RequestReader::Impl {
    explicit Impl(Limits given) : limits(given) {
        // BoundedBody and on_header() do that. Not boost::none, which 1.74 takes for a limit below every
        // length.
        parser.body_limit(std::numeric_limits<std::uint64_t>::max());
        parser.header_limit(static_cast<std::uint32_t>(
            std::min<std::size_t>(given.max_header_bytes, std::numeric_limits<std::uint32_t>::max())));
        parser.eager(false);
        parser.get().body().max_bytes = given.max_body_bytes;
    }

    Progress fail(int status, std::string message) {
        error_status = status;
        error_message = std::move(message);
        return Progress::failed;
    }
    Progress fail(const error_code& ec);
    Progress on_header();
    bool check_framing();
    Progress take_body();
    Fed step(std::string_view bytes);

    Limits limits;
    Parser parser;
    Request request;
    bool request_line_seen = false;
    bool header_seen = false;
    bool wants_continue = false;
    int error_status = 0;
    std::string error_message;
};

RequestReader::Progress RequestReader::Impl::fail(const error_code& ec) {
    if (ec == beast::http::error::header_limit) {
        return fail(431, "Request header fields are larger than " + std::to_string(limits.max_header_bytes) +
                             " bytes");
    }
    if (ec == beast::http::error::body_limit) {
        return fail(413,
                    "The request body is larger than " + std::to_string(limits.max_body_bytes) + " bytes");
    }
    return fail(400, "Malformed HTTP request: " + ec.message());
}

/// How long the body is must have one answer only (RFC 9112 section 6).
bool RequestReader::Impl::check_framing() {
    const auto lengths = parser.get().count(field::content_length);
    const auto codings = parser.get().count(field::transfer_encoding);
    if (lengths > 1 || codings > 1 || (lengths > 0 && codings > 0)) {
        fail(400, "Malformed HTTP request: more than one length of the body");
        return false;
    }
    if (lengths == 1) {
        const beast::string_view value = parser.get()[field::content_length];
        if (!std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
            fail(400, "Malformed HTTP request: bad Content-Length");
            return false;
        }
    }
    if (codings == 1 && (!iequals(to_string(parser.get()[field::transfer_encoding]), "chunked") ||
                         parser.get().version() == 10)) {
        fail(400, "Malformed HTTP request: the only transfer coding is chunked, in HTTP/1.1");
        return false;
    }
    // No Host at all is let through: health checks of the field leave it out, and there is one virtual host
    // only.
    if (parser.get().count(field::host) > 1) {
        fail(400, "Malformed HTTP request: more than one Host");
        return false;
    }
    return true;
}

RequestReader::Progress RequestReader::Impl::on_header() {
    header_seen = true;
    request.method = to_string(parser.get().method_string());
    request.target = to_string(parser.get().target());
    for (const auto& f : parser.get()) {
        request.headers.push_back({to_string(f.name_string()), to_string(f.value())});
    }
    auto target = parse_target(request.target);
    if (!target) {
        return fail(400, "Malformed HTTP request: bad target");
    }
    request.path = std::move(target->path);
    request.query = std::move(target->query);
    if (!check_framing()) {
        return Progress::failed;
    }
    if (const auto length = parser.content_length(); length && *length > limits.max_body_bytes) {
        return fail(beast::http::error::body_limit);
    }
    if (const std::string_view expect = request.header("Expect"); !expect.empty()) {
        if (!iequals(expect, "100-continue")) {
            return fail(417, "The only expectation that can be met is 100-continue");
        }
        wants_continue = parser.get().version() == 11 && !parser.is_done();
    }
    return Progress::need_more;
}

RequestReader::Progress RequestReader::Impl::take_body() {
    request.body = std::move(parser.get().body().bytes);
    return Progress::done;
}

/// One call of the parser. Takes nothing when it needs more than it was given.
RequestReader::Fed RequestReader::Impl::step(std::string_view bytes) {
    if (!request_line_seen) {
        if (!may_become_request_line(bytes)) {
            return {0, fail(400, "Malformed HTTP request: bad request line")};
        }
        request_line_seen = bytes.find('\n') != std::string_view::npos;
    }
    error_code ec;
    const std::size_t used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), ec);
    if (ec == beast::http::error::need_more) {
        // Beast keeps no bytes: what it could not use stays with the caller. Behind the headers that is a
        // chunk's head or the trailers, which no limit of Beast's bounds.
        if (bytes.size() - used > limits.max_header_bytes) {
            return {used, fail(header_seen ? 400 : 431, "A part of the request's framing is too large")};
        }
        return {used, Progress::need_more};
    }
    if (ec) {
        return {used, fail(ec)};
    }
    if (parser.is_header_done() && !header_seen && on_header() == Progress::failed) {
        return {used, Progress::failed};
    }
    return {used, parser.is_done() ? take_body() : Progress::need_more};
}

RequestReader::RequestReader(Limits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestReader::~RequestReader() = default;

RequestReader::Fed RequestReader::feed(std::string_view bytes) {
    std::size_t total = 0;
    try {
        while (total < bytes.size()) {
            const Fed fed = impl_->step(bytes.substr(total));
            total += fed.used;
            if (fed.progress != Progress::need_more) {
                return {total, fed.progress};
            }
            if (fed.used == 0) {
                break;
            }
        }
        return {total, Progress::need_more};
    } catch (const std::bad_alloc&) {
        return {total, impl_->fail(503, "No memory for the request")};
    } catch (const std::exception&) {
        // Beast throws for a single header field beyond 64 KiB, which only a raised max_header_bytes lets
        // through.
        return {total, impl_->fail(431, "A request header field is too large")};
    }
}

bool RequestReader::header_done() const {
    return impl_->header_seen;
}
bool RequestReader::wants_continue() const {
    return impl_->wants_continue;
}
bool RequestReader::keep_alive() const {
    return impl_->parser.keep_alive();
}
bool RequestReader::is_http_1_0() const {
    return impl_->header_seen && impl_->parser.get().version() < 11;
}
std::size_t RequestReader::body_bytes() const {
    return impl_->request.body.size() + impl_->parser.get().body().bytes.size();
}
int RequestReader::error_status() const {
    return impl_->error_status;
}
const std::string& RequestReader::error_message() const {
    return impl_->error_message;
}
Request& RequestReader::request() {
    return impl_->request;
}

}  // namespace kvalet::http
