// docs/metrics.md names every metric, and docs/api.md no route that is not there.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <sstream>

#include "routes_client.h"

namespace kvalet::api {
namespace {

std::string doc(const std::string& name) {
    std::ifstream file(std::string(KVALET_SOURCE_DIR "/docs/") + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

using Types = std::map<std::string, std::string>;

Types types_in(const std::string& text, const std::regex& line) {
    Types types;
    for (std::sregex_iterator m(text.begin(), text.end(), line), end; m != end; ++m) {
        EXPECT_TRUE(types.emplace((*m)[1], (*m)[2]).second) << (*m)[1] << " is there twice";
    }
    return types;
}

TEST(Docs, EveryMetricWithItsType) {
    Options options;
    options.api.endpoint_metrics = true;
    const test::FakeServer server(std::move(options));
    const Types scraped = types_in(get(server, "/metrics").body, std::regex("# TYPE (\\S+) (\\w+)"));
    const Types documented =
        types_in(doc("metrics.md"), std::regex("\n\\| `((?:llamacpp|vllm):\\w+)` \\| (\\w+) \\|"));
    EXPECT_FALSE(scraped.empty());
    EXPECT_EQ(documented, scraped);
}

/// What the rows of the tables of routes name: "`POST /x`".
std::vector<std::pair<std::string, std::string>> routes_in(const std::string& text) {
    std::vector<std::pair<std::string, std::string>> routes;
    const std::regex route("`(GET|POST|DELETE) (/[^` ]*)`");
    for (std::sregex_iterator m(text.begin(), text.end(), route), end; m != end; ++m) {
        routes.emplace_back((*m)[1], (*m)[2]);
    }
    return routes;
}

TEST(Docs, RoutesAreThere) {
    const test::FakeServer server;
    const std::string text = doc("api.md");
    const std::size_t missing = text.find("Known and not there yet, each 501");
    const std::size_t fields = text.find("## Request fields");
    ASSERT_TRUE(missing < fields && fields != std::string::npos);
    const auto status = [&](const auto& route) {
        TestClient client(server.port());
        client.send(route.first + " " + std::regex_replace(route.second, std::regex("\\{id\\}"), "0") +
                    " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
        const Response response = client.read_response();
        const bool unknown = response.body.find("File Not Found") != std::string::npos;
        return unknown ? 404 : response.status == 404 ? 200 : response.status;  // a request 0 is not there
    };
    const auto there = routes_in(text.substr(0, missing));
    EXPECT_GE(there.size(), 25U);
    for (const auto& route : there) {
        EXPECT_NE(status(route), 404) << route.first << " " << route.second;
        EXPECT_NE(status(route), 405) << route.first << " " << route.second;
    }
    const auto not_there = routes_in(text.substr(missing, fields - missing));
    EXPECT_GE(not_there.size(), 20U);
    for (const auto& route : not_there) {
        EXPECT_EQ(status(route), 501) << route.first << " " << route.second;
    }
}

}  // namespace
}  // namespace kvalet::api
