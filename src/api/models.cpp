#include "api/models.h"

#include <algorithm>

#include "api/json.h"
#include "api/settings.h"

namespace kvalet::api {

namespace {

/// Ollama's part of the answer, which some clients read.
Json ollama_entry(const std::string& name) {
    return Json{
        {"name", name},
        {"model", name},
        {"modified_at", ""},
        {"size", ""},
        {"digest", ""},
        {"type", "model"},
        {"description", ""},
        {"tags", Json::array({""})},
        {"capabilities", Json::array({"completion"})},
        {"parameters", ""},
        {"details", Json{{"parent_model", ""},
                         {"format", "gguf"},
                         {"family", ""},
                         {"families", Json::array({""})},
                         {"parameter_size", ""},
                         {"quantization_level", ""}}},
    };
}

std::vector<std::string> sorted(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Json openai_entry(const ApiConfig& config, const text::ModelInfo& model, std::int64_t n_ctx,
                  std::int64_t created_s) {
    return Json{
        {"id", model_name(config)},
        {"aliases", sorted(config.aliases)},
        {"tags", sorted(config.tags)},
        {"object", "model"},
        {"architecture",
         Json{{"input_modalities", Json::array({"text"})}, {"output_modalities", Json::array({"text"})}}},
        {"created", created_s},
        {"owned_by", "llamacpp"},
        {"meta", Json{{"vocab_type", model.vocab_type},
                      {"n_vocab", model.n_vocab},
                      {"n_ctx", n_ctx},
                      {"n_ctx_train", model.n_ctx_train},
                      {"n_embd", model.n_embd},
                      {"n_params", model.n_params},
                      {"size", model.size_bytes},
                      {"ftype", model.ftype}}},
    };
}

Json template_caps() {
    return Json{
        {"supports_object_arguments", false},   {"supports_parallel_tool_calls", false},
        {"supports_preserve_reasoning", false}, {"supports_reasoning_effort", false},
        {"supports_string_content", true},      {"supports_system_role", true},
        {"supports_tool_calls", false},         {"supports_tools", false},
        {"supports_typed_content", false},
    };
}

}  // namespace

std::string models_body(const ApiConfig& config, const text::ModelInfo& model, std::int64_t n_ctx,
                        std::int64_t created_s) {
    return dump(Json{
        {"models", Json::array({ollama_entry(model_name(config))})},
        {"object", "list"},
        {"data", Json::array({openai_entry(config, model, n_ctx, created_s)})},
    });
}

std::string props_body(const ApiConfig& config, const text::ModelInfo& model, std::int64_t n_ctx) {
    TaskParams defaults;
    defaults.sampling = config.defaults.sampling;
    defaults.stop = config.defaults.stop;
    defaults.n_keep = config.n_keep;
    return dump(Json{
        {"default_generation_settings", Json{{"params", reduced_settings(defaults)}, {"n_ctx", n_ctx}}},
        {"total_slots", config.n_slots},
        {"model_alias", model_name(config)},
        {"model_ftype", model.ftype},
        {"model_path", config.model_path},
        {"modalities", Json{{"vision", false}, {"video", false}, {"audio", false}}},
        {"media_marker", config.media_marker},
        {"endpoint_slots", config.endpoint_slots},
        {"endpoint_props", config.endpoint_props},
        {"endpoint_metrics", config.endpoint_metrics},
        {"ui", config.ui},
        {"ui_settings", Json::object()},
        {"chat_template", model.chat_template},
        {"chat_template_caps", template_caps()},
        {"bos_token", model.bos_text},
        {"eos_token", model.eos_text},
        {"build_info", config.build_info},
        {"is_sleeping", false},
        {"cors_proxy_enabled", false},
    });
}

}  // namespace kvalet::api
