// Routes that llama-server has and Kvalet does not have yet: a client learns which, instead of a bare 404.
#include <array>

#include "api/routes_parts.h"

namespace kvalet::api {

namespace {

struct Missing {
    const char* method;
    const char* path;
    const char* what;
};
constexpr std::array<Missing, 27> kMissing = {{
    {"POST", "/embedding", "Embeddings are"},
    {"POST", "/embeddings", "Embeddings are"},
    {"POST", "/v1/embeddings", "Embeddings are"},
    {"POST", "/rerank", "Reranking is"},
    {"POST", "/reranking", "Reranking is"},
    {"POST", "/v1/rerank", "Reranking is"},
    {"POST", "/v1/reranking", "Reranking is"},
    {"POST", "/infill", "Filling in the middle is"},
    {"POST", "/lora-adapters", "LoRA adapters are"},
    {"POST", "/v1/messages", "Anthropic's API is"},
    {"POST", "/v1/messages/count_tokens", "Anthropic's API is"},
    {"POST", "/responses", "OpenAI's Responses API is"},
    {"POST", "/v1/responses", "OpenAI's Responses API is"},
    {"POST", "/responses/input_tokens", "OpenAI's Responses API is"},
    {"POST", "/v1/responses/input_tokens", "OpenAI's Responses API is"},
    {"POST", "/audio/transcriptions", "Transcribing audio is"},
    {"POST", "/v1/audio/transcriptions", "Transcribing audio is"},
    {"POST", "/v1/chat/completions/control", "Controlling the reasoning is"},
    {"GET", "/v1/stream", "Resuming a stream is"},
    {"DELETE", "/v1/stream", "Resuming a stream is"},
    {"POST", "/v1/streams/lookup", "Resuming a stream is"},
    {"POST", "/models", "Serving several models is"},
    {"DELETE", "/models", "Serving several models is"},
    {"POST", "/models/load", "Serving several models is"},
    {"POST", "/models/unload", "Serving several models is"},
    {"GET", "/models/sse", "Serving several models is"},
    {"POST", "/predict", "Vertex AI's protocol is"},
}};

void disabled(const std::shared_ptr<Room>& /*room*/, const std::shared_ptr<http::Exchange>& exchange) {
    exchange->send(
        json_reply(R"({"error":{"message":"this feature is disabled","type":"feature_disabled"}})", 403));
}

}  // namespace

void add_missing_routes(RouteTable& routes) {
    for (const Missing& missing : kMissing) {
        const std::string sentence =
            std::string(missing.what) + " not supported yet (" + missing.method + " " + missing.path + ")";
        routes.add(
            missing.method, missing.path,
            [sentence](const std::shared_ptr<Room>& room, const std::shared_ptr<http::Exchange>& exchange) {
                exchange->send(error_reply(make_error(ErrorKind::not_supported, sentence), room->config));
            });
    }
    // No adapters are loaded, which is what an empty list says.
    routes.add("GET", "/lora-adapters",
               [](const std::shared_ptr<Room>&, const std::shared_ptr<http::Exchange>& exchange) {
                   exchange->send(json_reply("[]"));
               });
    for (const char* path : {"/tools", "/cors-proxy"}) {
        routes.add("GET", path, disabled);
        routes.add("POST", path, disabled);
    }
}

}  // namespace kvalet::api
