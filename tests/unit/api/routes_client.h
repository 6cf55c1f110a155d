// What the tests of the routes share: a client of a fake server, and what it reads.
#pragma once

#include <string>
#include <vector>

#include "api/json.h"
#include "support/fake_server.h"
#include "unit/http/test_client.h"

namespace kvalet::api {

using http::test::TestClient;
using Response = TestClient::Response;
using Options = test::FakeServer::Options;

inline std::string post_text(const std::string& target, const std::string& body,
                             const std::string& headers = "") {
    return "POST " + target + " HTTP/1.1\r\nHost: x\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline Response post(const test::FakeServer& server, const std::string& target, const std::string& body,
                     const std::string& headers = "") {
    TestClient client(server.port());
    client.send(post_text(target, body, headers));
    return client.read_response();
}

inline Response get(const test::FakeServer& server, const std::string& target,
                    const std::string& headers = "") {
    TestClient client(server.port());
    client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
    return client.read_response();
}

/// The JSON of the `data:` lines, without [DONE].
inline std::vector<Json> events_of(const std::string& body) {
    std::vector<Json> events;
    std::size_t begin = 0;
    while ((begin = body.find("data: ", begin)) != std::string::npos) {
        begin += 6;
        const std::size_t end = body.find("\n\n", begin);
        if (const std::string text = body.substr(begin, end - begin); text != "[DONE]") {
            events.push_back(*parse_json(text));
        }
    }
    return events;
}

inline std::string error_message(const Response& response) {
    return (*parse_json(response.body))["error"]["message"];
}

/// Asks until the snapshot is as wanted: engine and client do not run in step. False when it never comes to
/// that.
template <class Wanted>
bool comes_to(test::FakeServer& server, Wanted wanted) {
    constexpr int kRounds = 20'000;
    for (int i = 0; i < kRounds; ++i) {
        if (wanted(*server.engine().snapshot())) {
            return true;
        }
        (void)get(server, "/health");
    }
    return false;
}

/// A stream that stands still because its client does not read: enough tokens to fill every buffer on the
/// way.
struct HeldStream {
    HeldStream(const test::FakeServer& server, const std::string& body) : client(server.port(), 4096) {
        client.send(post_text("/completion", body));
        const std::string head = client.read_until("\r\n\r\n");
        constexpr std::string_view kName = "X-Request-Id: ";
        const std::size_t begin = head.find(kName) + kName.size();
        id = head.substr(begin, head.find("\r\n", begin) - begin);
    }
    TestClient client;
    std::string id;
};

inline Options large() {
    Options options;
    options.backend.pool = 8192;
    options.http.max_unsent_bytes = 4096;
    return options;
}

}  // namespace kvalet::api
