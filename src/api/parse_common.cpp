#include "api/parse_common.h"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "api/json.h"
#include "api/parse_chat.h"
#include "api/parse_prompt.h"

namespace kvalet::api {

namespace {

constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

struct Missing {
    std::string_view name;
    std::string_view sentence;
};
/// Fields that llama-server knows and that are not there yet. Their harmless values (false, 0, "", []) are
/// accepted.
constexpr std::array<Missing, 19> kMissing = {{
    {"lora", "LoRA adapters are not supported yet"},
    {"backend_sampling", "sampling in the backend is not supported yet"},
    {"grammar_lazy", "lazy grammars are not supported yet"},
    {"grammar_triggers", "lazy grammars are not supported yet"},
    {"preserved_tokens", "preserved tokens are not supported yet"},
    {"chat_format", "only the format 0 (content only) is supported yet"},
    {"chat_parser", "parsing the output is not supported yet"},
    {"generation_prompt", "is not supported yet"},
    {"parse_tool_calls", "calling tools is not supported yet"},
    {"reasoning_control", "controlling the reasoning is not supported yet"},
    {"reasoning_budget_start_tag", "a reasoning budget is not supported yet"},
    {"reasoning_budget_end_tags", "a reasoning budget is not supported yet"},
    {"reasoning_budget_end_tag", "a reasoning budget is not supported yet"},
    {"reasoning_budget_message", "a reasoning budget is not supported yet"},
    {"n_cache_reuse", "reusing shifted chunks of the cache is not supported yet"},
    {"return_exactness", "is not supported yet"},
    {"echo", "repeating the prompt is not supported yet"},
    {"suffix", "filling in the middle is not supported yet"},
    {"multimodal_data", "images and audio are not supported yet"},
}};

void refuse_missing(FieldReader& fields) {
    for (const Missing& missing : kMissing) {
        fields.refuse({missing.name}, missing.sentence);
    }
    if (fields.find({"json_schema"}) != nullptr) {  // {} means "any object", so even that is not harmless
        fields.fail("json_schema", "JSON schemas are not supported yet; a GBNF grammar is",
                    ErrorKind::not_supported);
    }
    for (const std::string_view name : {"reasoning_budget_tokens", "thinking_budget_tokens"}) {
        std::int32_t budget = -1;
        fields.integer({name}, budget, -1, kMaxInt);
        if (budget >= 0) {
            fields.fail(name, "a reasoning budget is not supported yet", ErrorKind::not_supported);
        }
    }
    std::int32_t best_of = 1;
    if (fields.integer({"best_of"}, best_of, 0, kMaxInt) && best_of > 1) {
        fields.fail("best_of", "more than 1 is not supported", ErrorKind::not_supported);
    }
}

void parse_stream_options(FieldReader& fields, TaskParams& params) {
    const Json* options = fields.find({"stream_options"});
    if (options == nullptr) {
        return;
    }
    if (!options->is_object()) {
        fields.fail("stream_options", "must be an object");
        return;
    }
    FieldReader nested(*options, "stream_options.");
    nested.boolean({"include_usage"}, params.include_usage);
    if (!nested.ok()) {
        fields.fail_with(*nested.error());
    }
}

void parse_reply_options(FieldReader& fields, TaskParams& params) {
    fields.boolean({"stream"}, params.stream);
    parse_stream_options(fields, params);
    fields.boolean({"verbose"}, params.verbose);
    fields.boolean({"timings_per_token"}, params.timings_per_token);
    fields.boolean({"return_tokens"}, params.return_tokens);
    fields.boolean({"return_progress"}, params.return_progress);
    fields.integer({"sse_ping_interval"}, params.sse_ping_interval_s, -1, kMaxInt);
    if (fields.strings({"response_fields"}, params.response_fields) &&
        params.response_fields.size() > kMaxResponseFields) {
        fields.fail("response_fields", "at most " + std::to_string(kMaxResponseFields) + " paths");
    }

    std::string notices;
    if (fields.string({"sse_notices"}, notices)) {
        if (notices == "comments") {
            params.sse_notices = SseNotices::comments;
        } else if (notices == "data") {
            params.sse_notices = SseNotices::data;
        } else if (notices == "off") {
            params.sse_notices = SseNotices::off;
        } else {
            fields.fail("sse_notices", "must be \"comments\", \"data\" or \"off\"");
        }
    }

    std::string format;
    if (fields.string({"reasoning_format"}, format)) {
        if (format == "deepseek" || format == "deepseek-legacy") {
            fields.fail("reasoning_format", "taking the reasoning out of the content is not supported yet",
                        ErrorKind::not_supported);
        } else if (format != "none" && format != "auto" && !format.empty()) {
            fields.fail("reasoning_format",
                        "must be \"none\", \"auto\", \"deepseek\" or \"deepseek-legacy\"");
        }
    }
}

void parse_placement(FieldReader& fields, const ApiConfig& config, TaskParams& params) {
    fields.boolean({"cache_prompt"}, params.cache_prompt);
    std::int32_t slot = -1;
    if (fields.integer({"id_slot"}, slot) && slot >= 0) {
        params.slot = SlotId{slot};
    }
    fields.integer({"n_cmpl", "n"}, params.n_cmpl, 1, config.n_slots);  // a family needs its slots at once
    fields.integer({"n_keep"}, params.n_keep, -1, kMaxInt);
    fields.integer({"n_discard"}, params.n_discard, 0, kMaxInt);
    fields.integer({"priority"}, params.priority, std::numeric_limits<std::int32_t>::min(),
                   config.priority_max);  // P7.1
}

TaskParams defaults_of(const ApiConfig& config) {
    TaskParams params;
    params.sampling = config.defaults.sampling;
    params.stop = config.defaults.stop;
    params.verbose = config.verbose;
    params.cache_prompt = config.cache_prompt;
    params.sse_ping_interval_s = config.sse_ping_interval_s;
    params.sse_notices = config.sse_notices;
    params.n_keep = config.n_keep;
    return params;
}

Result<std::vector<std::vector<Token>>> prompts_of(const Json& body, Dialect dialect,
                                                   const ParseContext& context) {
    if (dialect == Dialect::oai_chat) {
        const Result<std::string> text = parse_and_render_chat(body, context);
        if (!text.ok()) {
            return text.error();
        }
        return parse_prompts(Json(*text), context.model);
    }
    const auto prompt = body.find("prompt");
    if (prompt == body.end() || prompt->is_null()) {
        return make_error(ErrorKind::invalid_request, "Field 'prompt': is required");
    }
    return parse_prompts(*prompt, context.model);
}

}  // namespace

std::string_view name_of(SseNotices notices) {
    switch (notices) {
        case SseNotices::comments:
            return "comments";
        case SseNotices::data:
            return "data";
        case SseNotices::off:
            return "off";
    }
    return "off";
}

Result<TaskParams> parse_params(const Json& body, Dialect dialect, const ParseContext& context) {
    TaskParams params = defaults_of(context.config);
    FieldReader fields(body);
    parse_reply_options(fields, params);
    parse_placement(fields, context.config, params);
    parse_stop(fields, params.stop);
    parse_sampling(fields, context, params.sampling);
    parse_probs(fields, context, dialect, params.sampling);
    refuse_missing(fields);
    if (!fields.ok()) {
        return *fields.error();
    }
    if (dialect == Dialect::oai_chat) {
        if (const Status status = check_chat_fields(body); !status.ok()) {
            return status.error();
        }
    }
    return params;
}

Result<std::string> parse_and_render_chat(const Json& body, const ParseContext& context) {
    const Result<ChatPrompt> chat = parse_chat_prompt(body, context.config);
    if (!chat.ok()) {
        return chat.error();
    }
    return render_chat(*chat, context.model);
}

Result<CompletionJob> parse_completion(std::string_view text, Dialect dialect, const ParseContext& context) {
    const Result<Json> body = parse_json_object(text);
    if (!body.ok()) {
        return body.error();
    }
    Result<TaskParams> params = parse_params(*body, dialect, context);
    if (!params.ok()) {
        return params.error();
    }
    Result<std::vector<std::vector<Token>>> prompts = prompts_of(*body, dialect, context);
    if (!prompts.ok()) {
        return prompts.error();
    }
    if (prompts->size() > kMaxGenerations / static_cast<std::size_t>(params->n_cmpl)) {
        return make_error(ErrorKind::invalid_request, "Fields 'prompt' and 'n': at most " +
                                                          std::to_string(kMaxGenerations) +
                                                          " generations in one request");
    }
    return CompletionJob{dialect, std::move(*params), std::move(*prompts)};
}

}  // namespace kvalet::api
