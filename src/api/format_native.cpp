// llama-server's own dialect (llama-server-api 1.6).
#include "api/json.h"
#include "api/reply.h"
#include "api/settings.h"

namespace kvalet::api {

namespace {

Json partial(int index, std::string_view content, Json tokens, Tokens n_decoded, Tokens n_prompt) {
    return Json{
        {"index", index},
        {"content", content},
        {"tokens", std::move(tokens)},
        {"stop", false},
        {"id_slot", -1},
        {"tokens_predicted", n_decoded.value()},
        {"tokens_evaluated", n_prompt.value()},
    };
}

}  // namespace

Json native_token(const ReplyContext& context, int index, const engine::TokenOut& token) {
    Json out =
        partial(index, token.piece.text, Json::array({token.piece.token}), token.n_decoded, token.n_prompt);
    if (context.params.timings_per_token) {
        out["timings"] = timings_json(token.timings);
    }
    if (!token.piece.probs.empty()) {
        out["completion_probabilities"] =
            probs_json(token.piece.probs, context.params.sampling.post_sampling_probs);
    }
    return out;
}

Json native_progress(const ReplyContext& /*context*/, int index, const engine::Progress& progress) {
    Json out = partial(index, "", Json::array(), Tokens{0}, progress.total);
    out["prompt_progress"] = progress_json(progress);
    return out;
}

Json native_empty(const ReplyContext& /*context*/, int index) {
    return partial(index, "", Json::array(), Tokens{0}, Tokens{0});
}

Json native_final(const ReplyContext& context, const TaskResult& result) {
    const engine::Finished& end = result.end;
    const auto i = static_cast<std::size_t>(result.index / context.params.n_cmpl);
    Json settings = generation_settings(context.params, context.eog_tokens);
    settings["seed"] = seed_of(context.params, result.index);
    Json out = {
        {"index", result.index},
        {"content", result.content},
        {"tokens", result.tokens},
        {"id_slot", end.slot.value()},
        {"stop", true},
        {"model", context.model},
        {"tokens_predicted", end.n_decoded.value()},
        {"tokens_evaluated", end.n_prompt.value()},
        {"generation_settings", std::move(settings)},
        {"prompt", i < context.prompt_texts.size() ? context.prompt_texts[i] : std::string{}},
        {"has_new_line", end.has_new_line},
        {"truncated", end.truncated},
        {"stop_type", stop_type_name(end.stop)},
        {"stopping_word", end.stopping_word},
        {"tokens_cached", end.n_cached_now.value()},
        {"timings", timings_json(end.timings)},
    };
    if (!result.probs.empty()) {
        out["completion_probabilities"] =
            probs_json(result.probs, context.params.sampling.post_sampling_probs);
    }
    if (context.dialect == Dialect::native && !context.params.response_fields.empty()) {
        return nested_values(context.params.response_fields, out);
    }
    return out;
}

}  // namespace kvalet::api
