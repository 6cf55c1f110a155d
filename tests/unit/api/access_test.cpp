// Keys, CORS, file names, error objects, ids.
#include "api/access.h"

#include <gtest/gtest.h>

#include "api/errors.h"
#include "api/filename.h"
#include "api/ids.h"
#include "api/utf8.h"

namespace kvalet::api {
namespace {

TEST(Access, Keys) {
    const std::vector<std::string> keys = {"one", "two"};
    EXPECT_TRUE(key_allowed({}, "", ""));
    EXPECT_TRUE(key_allowed(keys, "Bearer one", ""));
    EXPECT_TRUE(key_allowed(keys, "two", ""));
    EXPECT_TRUE(key_allowed(keys, "", "two"));
    EXPECT_TRUE(key_allowed(keys, "", "Bearer two"));
    EXPECT_FALSE(key_allowed(keys, "", ""));
    EXPECT_FALSE(key_allowed(keys, "Bearer ", ""));
    EXPECT_FALSE(key_allowed(keys, "Bearer on", ""));
    EXPECT_FALSE(key_allowed(keys, "Bearer onee", ""));
    EXPECT_FALSE(key_allowed(keys, "Basic one", ""));
    EXPECT_FALSE(key_allowed(keys, "Bearer three", "two")) << "Authorization is the one that counts";
}

TEST(Access, PublicPaths) {
    for (const char* path :
         {"/health", "/v1/health", "/", "/sw.js", "/manifest.webmanifest", "/_app/version.json"}) {
        EXPECT_TRUE(is_public(path)) << path;
    }
    for (const char* path : {"/models", "/v1/models", "/slots", "/health/", "/requests", ""}) {
        EXPECT_FALSE(is_public(path)) << path;
    }
    EXPECT_EQ(without_prefix("/api/health", "/api"), "/health");
    EXPECT_EQ(without_prefix("/health", ""), "/health");
    EXPECT_EQ(without_prefix("/health", "/api"), std::nullopt);
}

TEST(Access, Cors) {
    CorsConfig cors;
    EXPECT_EQ(allowed_origin(cors, "http://a.example"), "http://a.example");
    EXPECT_EQ(allowed_origin(cors, ""), std::nullopt);
    cors.credentials = false;
    EXPECT_EQ(allowed_origin(cors, "http://a.example"), "*");
    cors.origins = "http://b.example";
    EXPECT_EQ(allowed_origin(cors, "http://a.example"), "http://b.example");
    cors.origins = "localhost";
    for (const char* origin :
         {"http://localhost", "https://localhost:3000", "http://127.0.0.1:8080", "http://[::1]:1"}) {
        EXPECT_EQ(allowed_origin(cors, origin), origin);
    }
    for (const char* origin : {"", "null", "http://localhost.evil.example", "http://evil.example/localhost",
                               "http://localhost:1@evil.example", "http://[::1", "http://127.0.0.11"}) {
        EXPECT_EQ(allowed_origin(cors, origin), std::nullopt) << origin;
    }
    const auto preflight = preflight_headers(CorsConfig{});
    ASSERT_EQ(preflight.size(), 3U);
    EXPECT_EQ(preflight[0].second, "true");
    EXPECT_EQ(preflight[1].second, "GET, POST, DELETE, OPTIONS");
    EXPECT_EQ(preflight[2].second, "*");
}

TEST(Filename, OnlyPlainNames) {
    for (const char* name : {"a", "chat-1.bin", "häuser", "a b", ".hidden", "日本"}) {
        EXPECT_TRUE(is_valid_filename(name)) << name;
    }
    EXPECT_TRUE(is_valid_filename(std::string(255, 'a')));
    for (const std::string& name : {std::string(),
                                    std::string("a/b"),
                                    std::string("a\\b"),
                                    std::string(".."),
                                    std::string("a..b"),
                                    std::string("."),
                                    std::string("a."),
                                    std::string(" a"),
                                    std::string("a "),
                                    std::string("a:b"),
                                    std::string("a*"),
                                    std::string("a?"),
                                    std::string("\"a\""),
                                    std::string("<a>"),
                                    std::string("a|b"),
                                    std::string("a\nb"),
                                    std::string("a\0b", 3),
                                    std::string("a\x7f"),
                                    std::string("\xc2\x85"),
                                    std::string("\xff"),
                                    std::string("\xc0\xaf"),
                                    std::string("a\xe2\x88\x95z"),
                                    std::string("\xef\xbb\xbfz"),
                                    std::string(256, 'a')}) {
        EXPECT_FALSE(is_valid_filename(name)) << name;
    }
}

TEST(Utf8, Strict) {
    EXPECT_TRUE(is_valid_utf8("aé日😀"));
    for (const char* text : {"\x80", "\xc3", "\xc3(", "\xe2\x82", "\xf0\x9f\x98", "\xc0\x80", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "a\xff"}) {
        EXPECT_FALSE(is_valid_utf8(text)) << text;
    }
}

TEST(Errors, Objects) {
    EXPECT_EQ(error_body(make_error(ErrorKind::invalid_request, "no")),
              R"({"error":{"code":400,"message":"no","type":"invalid_request_error"}})");
    Error context = make_error(ErrorKind::exceed_context_size, "long");
    context.n_prompt_tokens = 9;
    context.n_ctx = 8;
    EXPECT_EQ(
        error_body(context),
        R"({"error":{"code":400,"message":"long","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}})");
    EXPECT_EQ(error_body(make_error(ErrorKind::unavailable, "\xff")),
              "{\"error\":{\"code\":503,\"message\":\"\xef\xbf\xbd\",\"type\":\"unavailable_error\"}}");
    const struct {
        ErrorKind kind;
        int status;
        const char* type;
    } table[] = {
        {ErrorKind::authentication, 401, "authentication_error"},
        {ErrorKind::permission, 403, "permission_error"},
        {ErrorKind::not_found, 404, "not_found_error"},
        {ErrorKind::method_not_allowed, 405, "invalid_request_error"},
        {ErrorKind::timeout, 408, "timeout_error"},
        {ErrorKind::payload_too_large, 413, "invalid_request_error"},
        {ErrorKind::too_many_requests, 429, "rate_limit_error"},
        {ErrorKind::header_too_large, 431, "invalid_request_error"},
        {ErrorKind::server, 500, "server_error"},
        {ErrorKind::not_supported, 501, "not_supported_error"},
        {ErrorKind::unavailable, 503, "unavailable_error"},
    };
    for (const auto& row : table) {
        EXPECT_EQ(http_status(row.kind), row.status);
        EXPECT_EQ(type_name(row.kind), row.type);
        EXPECT_EQ(http_status(kind_of_status(row.status)), row.status);
    }
}

TEST(Ids, AreLongAndDifferent) {
    const std::string a = new_completion_id();
    EXPECT_EQ(a.find("chatcmpl-"), 0U);
    EXPECT_EQ(a.size(), std::string("chatcmpl-").size() + 32);
    EXPECT_NE(a, new_completion_id());
}

}  // namespace
}  // namespace kvalet::api
