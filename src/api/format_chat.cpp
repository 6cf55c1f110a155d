// OpenAI's chat (llama-server-api 1.7).
#include "api/json.h"
#include "api/reply.h"

namespace kvalet::api {

namespace {

Json chunk(const ReplyContext& context, Json choices) {
    return Json{
        {"choices", std::move(choices)},
        {"created", context.created_s},
        {"id", context.id},
        {"model", context.model},
        {"system_fingerprint", context.fingerprint},
        {"object", "chat.completion.chunk"},
    };
}

Json delta_chunk(const ReplyContext& context, int index, Json delta, Json reason = nullptr) {
    return chunk(context, Json::array({Json{
                              {"finish_reason", std::move(reason)},
                              {"index", index},
                              {"delta", std::move(delta)},
                          }}));
}

}  // namespace

Json chat_role(const ReplyContext& context, int index) {
    return delta_chunk(context, index, Json{{"role", "assistant"}, {"content", nullptr}});
}

std::vector<Json> chat_token(const ReplyContext& context, int index, bool first,
                             const engine::TokenOut& token) {
    std::vector<Json> chunks;
    if (first) {
        chunks.push_back(chat_role(context, index));
    }
    if (!token.piece.text.empty()) {
        chunks.push_back(delta_chunk(context, index, Json{{"content", token.piece.text}}));
    }
    if (chunks.empty()) {
        return chunks;
    }
    Json& last = chunks.back();
    if (!token.piece.probs.empty()) {
        last["choices"][0]["logprobs"] =
            Json{{"content", probs_json(token.piece.probs, context.params.sampling.post_sampling_probs)}};
    }
    if (context.params.timings_per_token) {
        last["timings"] = timings_json(token.timings);
    }
    return chunks;
}

Json chat_progress(const ReplyContext& context, int index, const engine::Progress& progress) {
    Json out = chat_role(context, index);
    out["prompt_progress"] = progress_json(progress);
    return out;
}

Json chat_empty(const ReplyContext& context, int index) {
    return delta_chunk(context, index, Json::object());
}

std::vector<Json> chat_stream_final(const ReplyContext& context, const TaskResult& result) {
    std::vector<Json> chunks;
    chunks.push_back(delta_chunk(context, result.index, Json::object(), finish_reason(result.end.stop)));
    if (context.params.include_usage) {
        Json usage = chunk(context, Json::array());
        usage["usage"] = usage_json(result.end);
        chunks.push_back(std::move(usage));
    }
    chunks.back()["timings"] = timings_json(result.end.timings);
    if (context.params.verbose) {
        chunks.front()["__verbose"] = native_final(context, result);
    }
    return chunks;
}

Json chat_final(const ReplyContext& context, const TaskResult& result) {
    Json choice = {
        {"finish_reason", finish_reason(result.end.stop)},
        {"index", result.index},
        {"message", Json{{"role", "assistant"}, {"content", result.content}}},
    };
    if (!result.probs.empty()) {
        choice["logprobs"] =
            Json{{"content", probs_json(result.probs, context.params.sampling.post_sampling_probs)}};
    }
    Json out = {
        {"choices", Json::array({std::move(choice)})},
        {"created", context.created_s},
        {"model", context.model},
        {"system_fingerprint", context.fingerprint},
        {"object", "chat.completion"},
        {"usage", usage_json(result.end)},
        {"id", context.id},
    };
    if (context.params.verbose) {
        out["__verbose"] = native_final(context, result);
    }
    out["timings"] = timings_json(result.end.timings);
    return out;
}

}  // namespace kvalet::api
