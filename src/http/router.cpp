#include "http/router.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace kvalet::http {

namespace {

std::vector<std::string_view> split_path(std::string_view path) {
    std::vector<std::string_view> segments;
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        segments.push_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    return segments;
}

bool is_parameter(std::string_view segment) {
    return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

/// How a parameter is stored among the segments of a pattern; no segment can contain a slash.
constexpr std::string_view kParameter = "/";

/// A parameter takes any segment but an empty one: "/slots/" is no slot.
bool matches(const std::vector<std::string>& pattern, const std::vector<std::string_view>& given) {
    return std::equal(pattern.begin(), pattern.end(), given.begin(), given.end(),
                      [](const std::string& wanted, std::string_view segment) {
                          return wanted == kParameter ? !segment.empty() : wanted == segment;
                      });
}

}  // namespace

void Router::add(std::string method, std::string pattern, Handler handler) {
    KVALET_ASSERT(handler != nullptr, "a route needs a handler");
    std::vector<std::string> segments;
    bool has_parameter = false;
    for (std::string_view segment : split_path(pattern)) {
        has_parameter = has_parameter || is_parameter(segment);
        segments.emplace_back(is_parameter(segment) ? kParameter : segment);
    }
    if (!has_parameter) {
        paths_[std::move(pattern)][std::move(method)] = std::move(handler);
        return;
    }
    auto known = std::find_if(patterns_.begin(), patterns_.end(),
                              [&](const Pattern& p) { return p.segments == segments; });
    if (known == patterns_.end()) {
        patterns_.push_back({std::move(segments), {}});
        known = std::prev(patterns_.end());
    }
    known->methods[std::move(method)] = std::move(handler);
}

const Router::Methods* Router::find(std::string_view path, std::vector<std::string>& params) const {
    if (const auto exact = paths_.find(path); exact != paths_.end()) {
        return &exact->second;
    }
    const std::vector<std::string_view> segments = split_path(path);
    for (const Pattern& pattern : patterns_) {
        if (matches(pattern.segments, segments)) {
            for (std::size_t i = 0; i < segments.size(); ++i) {
                if (pattern.segments[i] == kParameter) {
                    params.emplace_back(segments[i]);
                }
            }
            return &pattern.methods;
        }
    }
    return nullptr;
}

std::string Router::allow_value(const Methods& methods) const {
    std::string allow;
    const auto append = [&](std::string_view method) {
        allow += allow.empty() ? "" : ", ";
        allow += method;
    };
    for (const auto& [method, handler] : methods) {
        append(method);
        if (method == "GET" && !methods.contains("HEAD")) {
            append("HEAD");
        }
    }
    if (options_ && !methods.contains("OPTIONS")) {
        append("OPTIONS");
    }
    return allow;
}

Router::Match Router::match(Request& request) const {
    const Methods* methods = find(request.path, request.path_params);
    if (methods == nullptr) {
        return {};
    }
    auto route = methods->find(request.method);
    if (route == methods->end() && request.method == "HEAD") {
        route = methods->find("GET");
    }
    if (route == methods->end()) {
        return {nullptr, allow_value(*methods)};
    }
    return {&route->second, {}};
}

void Router::dispatch(const Match& match, const std::shared_ptr<Exchange>& exchange,
                      const ErrorFormatter& format_error) const {
    if (options_ && exchange->request().method == "OPTIONS") {
        options_(exchange);
        return;
    }
    if (before_ && !before_(*exchange)) {
        return;
    }
    if (match.handler != nullptr) {
        (*match.handler)(exchange);
    } else if (!match.allow.empty()) {
        Reply reply = format_error(405, "Method Not Allowed");
        reply.headers.push_back({"Allow", match.allow});
        exchange->send(std::move(reply));
    } else if (fallback_) {
        fallback_(exchange);
    } else {
        exchange->send(format_error(404, "File Not Found"));
    }
}

}  // namespace kvalet::http
