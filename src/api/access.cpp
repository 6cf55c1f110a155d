#include "api/access.h"

#include <algorithm>
#include <array>

namespace kvalet::api {

namespace {

constexpr std::array<std::string_view, 9> kPublic = {"/health",
                                                     "/v1/health",
                                                     "/",
                                                     "/index.html",
                                                     "/favicon.ico",
                                                     "/sw.js",
                                                     "/manifest.webmanifest",
                                                     "/version.json",
                                                     "/_app/version.json"};

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    unsigned different = a.size() == b.size() ? 0U : 1U;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        different |=
            static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    }
    return different == 0;
}

/// "http://host:port" → "host"; brackets of an IPv6 address are taken off.
std::string_view host_of(std::string_view origin) {
    const std::size_t scheme = origin.find("://");
    if (scheme == std::string_view::npos) {
        return {};
    }
    std::string_view rest = origin.substr(scheme + 3);
    rest = rest.substr(0, rest.find('/'));
    if (rest.find('@') != std::string_view::npos) {
        return {};  // user:password@host is no origin that a browser sends
    }
    if (rest.starts_with('[')) {
        const std::size_t end = rest.find(']');
        return end == std::string_view::npos ? std::string_view{} : rest.substr(1, end - 1);
    }
    return rest.substr(0, rest.find(':'));
}

}  // namespace

bool is_public(std::string_view path) {
    return std::find(kPublic.begin(), kPublic.end(), path) != kPublic.end();
}

bool key_allowed(const std::vector<std::string>& keys, std::string_view authorization,
                 std::string_view x_api_key) {
    if (keys.empty()) {
        return true;
    }
    constexpr std::string_view kBearer = "Bearer ";
    std::string_view given = authorization.empty() ? x_api_key : authorization;
    if (given.starts_with(kBearer)) {
        given.remove_prefix(kBearer.size());
    }
    bool allowed = false;
    for (const std::string& key : keys) {
        allowed = equal_in_constant_time(key, given) || allowed;
    }
    return allowed;
}

std::optional<std::string> allowed_origin(const CorsConfig& cors, std::string_view origin) {
    if (cors.origins == "*" && cors.credentials) {
        // Browsers refuse "*" together with credentials.
        return origin.empty() ? std::nullopt : std::optional<std::string>(origin);
    }
    if (cors.origins == "localhost") {
        const std::string_view host = host_of(origin);
        const bool local = host == "localhost" || host == "127.0.0.1" || host == "::1";
        return local ? std::optional<std::string>(origin) : std::nullopt;
    }
    return cors.origins;
}

std::vector<std::pair<std::string, std::string>> preflight_headers(const CorsConfig& cors) {
    return {
        {"Access-Control-Allow-Credentials", cors.credentials ? "true" : "false"},
        {"Access-Control-Allow-Methods", cors.methods},
        {"Access-Control-Allow-Headers", cors.headers},
    };
}

std::optional<std::string_view> without_prefix(std::string_view path, std::string_view prefix) {
    if (!path.starts_with(prefix)) {
        return std::nullopt;
    }
    path.remove_prefix(prefix.size());
    return path;
}

}  // namespace kvalet::api
