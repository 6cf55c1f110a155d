// OpenAI's completions (llama-server-api 1.7).
#include "api/json.h"
#include "api/reply.h"

namespace kvalet::api {

namespace {

Json logprobs_json(const ReplyContext& context, std::span<const text::TokenProbs> probs) {
    if (probs.empty()) {
        return nullptr;
    }
    return Json{{"content", probs_json(probs, context.params.sampling.post_sampling_probs)}};
}

Json choice(int index, std::string_view text, Json logprobs, Json reason) {
    return Json{
        {"text", text},
        {"index", index},
        {"logprobs", std::move(logprobs)},
        {"finish_reason", std::move(reason)},
    };
}

Json head(const ReplyContext& context, Json only_choice) {
    return Json{
        {"choices", Json::array({std::move(only_choice)})},
        {"created", context.created_s},
        {"model", context.model},
        {"system_fingerprint", context.fingerprint},
        {"object", "text_completion"},
    };
}

}  // namespace

Json oai_token(const ReplyContext& context, int index, const engine::TokenOut& token) {
    Json out =
        head(context, choice(index, token.piece.text, logprobs_json(context, token.piece.probs), nullptr));
    out["id"] = context.id;
    if (context.params.verbose) {
        out["__verbose"] = native_token(context, index, token);
    }
    if (context.params.timings_per_token) {
        out["timings"] = timings_json(token.timings);
    }
    return out;
}

Json oai_progress(const ReplyContext& context, int index, const engine::Progress& progress) {
    Json out = oai_empty(context, index);
    if (context.params.verbose) {
        out["__verbose"] = native_progress(context, index, progress);
    }
    out["prompt_progress"] = progress_json(progress);
    return out;
}

Json oai_empty(const ReplyContext& context, int index) {
    Json out = head(context, choice(index, "", nullptr, nullptr));
    out["id"] = context.id;
    return out;
}

Json oai_final(const ReplyContext& context, const TaskResult& result) {
    Json out = head(context, choice(result.index, result.content, logprobs_json(context, result.probs),
                                    finish_reason(result.end.stop)));
    out["usage"] = usage_json(result.end);
    out["id"] = context.id;
    if (context.params.verbose) {
        out["__verbose"] = native_final(context, result);
    }
    out["timings"] = timings_json(result.end.timings);
    return out;
}

}  // namespace kvalet::api
