#include "api/reply.h"

#include <algorithm>

#include "api/json.h"

namespace kvalet::api {

namespace {

/// Text up to a UTF-8 character that is cut off at its end: tokens of byte vocabularies hold such.
std::string_view whole_characters(std::string_view text) {
    const std::size_t n = text.size();
    for (std::size_t back = 1; back <= std::min<std::size_t>(4, n); ++back) {
        const auto c = static_cast<unsigned char>(text[n - back]);
        const std::size_t length = (c & 0xE0U) == 0xC0U   ? 2
                                   : (c & 0xF0U) == 0xE0U ? 3
                                   : (c & 0xF8U) == 0xF0U ? 4
                                                          : 1;
        if (length > back) {
            return text.substr(0, n - back);
        }
    }
    return text;
}

Json prob_json(const text::TokenProb& prob, bool post_sampling) {
    Json bytes = Json::array();
    for (const char c : prob.text) {
        bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return Json{
        {"id", prob.token},
        {"token", whole_characters(prob.text)},
        {"bytes", std::move(bytes)},
        {post_sampling ? "prob" : "logprob", prob.p},
    };
}

void add_usage(Json& sum, const Json& other) {
    for (const char* key : {"completion_tokens", "prompt_tokens", "total_tokens"}) {
        sum[key] = sum[key].get<std::int64_t>() + other[key].get<std::int64_t>();
    }
    Json& cached = sum["prompt_tokens_details"]["cached_tokens"];
    cached = cached.get<std::int64_t>() + other["prompt_tokens_details"]["cached_tokens"].get<std::int64_t>();
}

Json final_of(const ReplyContext& context, const TaskResult& result) {
    switch (context.dialect) {
        case Dialect::native:
            return native_final(context, result);
        case Dialect::oai_completion:
            return oai_final(context, result);
        case Dialect::oai_chat:
            return chat_final(context, result);
    }
    return {};
}

}  // namespace

bool shows_prompt(Dialect dialect, const TaskParams& params) {
    return dialect == Dialect::native || params.verbose;
}

Json timings_json(const engine::Timings& t) {
    const auto prompt_n = static_cast<double>(t.prompt_n.value());
    // The first token comes with the last of the prompt: n tokens are n - 1 steps.
    const auto steps = static_cast<double>(std::max<std::int64_t>(t.predicted_n.value() - 1, 0));
    return Json{
        {"cache_n", t.cache_n.value()},
        {"prompt_n", t.prompt_n.value()},
        {"prompt_ms", t.prompt_ms},
        {"prompt_per_token_ms", prompt_n > 0 ? t.prompt_ms / prompt_n : 0.0},
        {"prompt_per_second", t.prompt_ms > 0 ? 1e3 / t.prompt_ms * prompt_n : 0.0},
        {"predicted_n", t.predicted_n.value()},
        {"predicted_ms", t.predicted_ms},
        {"predicted_per_token_ms", steps > 0 ? t.predicted_ms / steps : 0.0},
        {"predicted_per_second", t.predicted_ms > 0 ? 1e3 / t.predicted_ms * steps : 0.0},
    };
}

Json progress_json(const engine::Progress& p) {
    return Json{
        {"total", p.total.value()},
        {"cache", p.cache.value()},
        {"processed", p.processed.value()},
        {"time_ms", static_cast<std::int64_t>(p.time_ms)},
    };
}

Json usage_json(const engine::Finished& end) {
    const std::int64_t n_completion = end.n_decoded.value();
    const std::int64_t n_prompt = end.n_prompt.value();
    return Json{
        {"completion_tokens", n_completion},
        {"prompt_tokens", n_prompt},
        {"total_tokens", n_completion + n_prompt},
        {"prompt_tokens_details", Json{{"cached_tokens", end.timings.cache_n.value()}}},
    };
}

Json probs_json(std::span<const text::TokenProbs> probs, bool post_sampling) {
    Json list = Json::array();
    for (const text::TokenProbs& entry : probs) {
        Json item = prob_json(entry.chosen, post_sampling);
        Json top = Json::array();
        for (const text::TokenProb& alternative : entry.top) {
            if (!post_sampling || alternative.p > 0.0F) {
                top.push_back(prob_json(alternative, post_sampling));
            }
        }
        item[post_sampling ? "top_probs" : "top_logprobs"] = std::move(top);
        list.push_back(std::move(item));
    }
    return list;
}

std::string_view finish_reason(text::StopType stop) {
    return stop == text::StopType::eos || stop == text::StopType::word ? "stop" : "length";
}

std::string_view stop_type_name(text::StopType stop) {
    switch (stop) {
        case text::StopType::none:
            return "none";
        case text::StopType::eos:
            return "eos";
        case text::StopType::limit:
            return "limit";
        case text::StopType::word:
            return "word";
    }
    return "none";
}

Json nested_values(const std::vector<std::string>& paths, const Json& from) {
    Json out = Json::object();
    for (const std::string& path : paths) {
        const Json* current = &from;
        std::string_view rest = path;
        while (current != nullptr) {
            const std::size_t slash = std::min(rest.find('/'), rest.size());
            const auto next =
                current->is_object() ? current->find(std::string(rest.substr(0, slash))) : current->end();
            current = current->is_object() && next != current->end() ? &*next : nullptr;
            if (slash == rest.size()) {
                break;
            }
            rest.remove_prefix(slash + 1);
        }
        if (current != nullptr) {
            out[path] = *current;
        }
    }
    return out;
}

std::string whole_body(const ReplyContext& context, std::span<const TaskResult> results) {
    if (results.size() == 1) {
        return dump(final_of(context, results.front()));
    }
    if (context.dialect == Dialect::native) {
        Json list = Json::array();
        for (const TaskResult& result : results) {
            list.push_back(final_of(context, result));
        }
        return dump(list);
    }
    Json merged = final_of(context, results.front());
    for (const TaskResult& result : results.subspan(1)) {
        Json other = final_of(context, result);
        merged["choices"].push_back(std::move(other["choices"][0]));
        if (child_of(context.params, result.index) == 0) {
            add_usage(merged["usage"], other["usage"]);
        }
    }
    return dump(merged);
}

}  // namespace kvalet::api
