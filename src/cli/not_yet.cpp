#include "cli/not_yet.h"

#include "cli/values.h"

namespace kvalet::cli {

namespace {

constexpr NotYet kTable[] = {
    // Where models come from.
    {"-mu --model-url", "LLAMA_ARG_MODEL_URL", 1, "", ""},
    {"-dr --docker-repo", "LLAMA_ARG_DOCKER_REPO", 1, "", ""},
    {"-hf -hfr --hf-repo", "LLAMA_ARG_HF_REPO", 1, "", ""},
    {"-hff --hf-file", "LLAMA_ARG_HF_FILE", 1, "", ""},
    {"-hft --hf-token", "", 1, "", ""},  // HF_TOKEN is often set for other programs
    {"--offline", "LLAMA_ARG_OFFLINE", 0, "*", ""},
    {"-cl --cache-list", "", 0, "off", ""},
    {"--models-dir", "LLAMA_ARG_MODELS_DIR", 1, "", ""},
    {"--models-preset", "LLAMA_ARG_MODELS_PRESET", 1, "", ""},
    {"--models-max", "LLAMA_ARG_MODELS_MAX", 1, "*", ""},
    {"--models-autoload", "LLAMA_ARG_MODELS_AUTOLOAD", 0, "*", "--no-models-autoload"},
    {"--embd-gemma-default", "", 0, "off", ""},
    {"--fim-qwen-1.5b-default", "", 0, "off", ""},
    {"--fim-qwen-3b-default", "", 0, "off", ""},
    {"--fim-qwen-7b-default", "", 0, "off", ""},
    {"--fim-qwen-7b-spec", "", 0, "off", ""},
    {"--fim-qwen-14b-spec", "", 0, "off", ""},
    {"--fim-qwen-30b-default", "", 0, "off", ""},
    {"--gpt-oss-20b-default", "", 0, "off", ""},
    {"--gpt-oss-120b-default", "", 0, "off", ""},
    {"--vision-gemma-4b-default", "", 0, "off", ""},
    {"--vision-gemma-12b-default", "", 0, "off", ""},
    // Adapters, images, embeddings.
    {"--lora", "", 1, "", ""},
    {"--lora-scaled", "", 1, "", ""},
    {"--lora-init-without-apply", "", 0, "off", ""},
    {"--control-vector", "", 1, "", ""},
    {"--control-vector-scaled", "", 1, "", ""},
    {"--control-vector-layer-range", "", 2, "", ""},
    {"-mm --mmproj", "LLAMA_ARG_MMPROJ", 1, "", ""},
    {"-mmu --mmproj-url", "LLAMA_ARG_MMPROJ_URL", 1, "", ""},
    {"--mmproj-auto", "LLAMA_ARG_MMPROJ_AUTO", 0, "*", "--no-mmproj --no-mmproj-auto"},
    {"--mmproj-offload", "LLAMA_ARG_MMPROJ_OFFLOAD", 0, "*", "--no-mmproj-offload"},
    {"-mmdev --mmproj-device", "", 1, "", ""},
    {"--image-min-tokens", "LLAMA_ARG_IMAGE_MIN_TOKENS", 1, "", ""},
    {"--image-max-tokens", "LLAMA_ARG_IMAGE_MAX_TOKENS", 1, "", ""},
    {"--mtmd-batch-max-tokens", "LLAMA_ARG_MTMD_BATCH_MAX_TOKENS", 1, "", ""},
    {"--video-fps", "LLAMA_ARG_VIDEO_FPS", 1, "", ""},
    {"--video-timestamp-interval", "LLAMA_ARG_VIDEO_TIMESTAMP_INTERVAL", 1, "", ""},
    {"--video-ffmpeg-dir", "LLAMA_ARG_VIDEO_FFMPEG_DIR", 1, "", ""},
    {"--media-path", "", 1, "", ""},
    {"--pooling", "LLAMA_ARG_POOLING", 1, "none", ""},
    {"--embedding --embeddings", "LLAMA_ARG_EMBEDDINGS", 0, "off", ""},
    {"--rerank --reranking", "LLAMA_ARG_RERANKING", 0, "off", ""},
    {"--embd-normalize", "", 1, "2", ""},
    {"--spm-infill", "", 0, "off", ""},
    // Speculation.
    {"--spec-type", "LLAMA_ARG_SPEC_TYPE", 1, "none", ""},
    {"--spec-default", "", 0, "off", ""},
    {"-md --spec-draft-model --model-draft", "LLAMA_ARG_SPEC_DRAFT_MODEL", 1, "", ""},
    {"-hfd -hfrd --spec-draft-hf --hf-repo-draft", "LLAMA_ARG_SPEC_DRAFT_HF_REPO", 1, "", ""},
    {"-td --spec-draft-threads --threads-draft", "", 1, "", ""},
    {"-tbd --spec-draft-threads-batch --threads-batch-draft", "", 1, "", ""},
    {"-Cd --spec-draft-cpu-mask --cpu-mask-draft", "", 1, "", ""},
    {"-Crd --spec-draft-cpu-range --cpu-range-draft", "", 1, "", ""},
    {"--spec-draft-cpu-strict --cpu-strict-draft", "", 1, "0", ""},
    {"--spec-draft-prio --prio-draft", "", 1, "0", ""},
    {"--spec-draft-poll --poll-draft", "", 1, "", ""},
    {"-Cbd --spec-draft-cpu-mask-batch --cpu-mask-batch-draft", "", 1, "", ""},
    {"-Crbd --spec-draft-cpu-range-batch --cpu-range-batch-draft", "", 1, "", ""},
    {"--spec-draft-cpu-strict-batch --cpu-strict-batch-draft", "", 1, "0", ""},
    {"--spec-draft-prio-batch --prio-batch-draft", "", 1, "0", ""},
    {"--spec-draft-poll-batch --poll-batch-draft", "", 1, "", ""},
    {"-ctkd --spec-draft-type-k --cache-type-k-draft", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", 1, "", ""},
    {"-ctvd --spec-draft-type-v --cache-type-v-draft", "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V", 1, "", ""},
    {"-otd --spec-draft-override-tensor --override-tensor-draft", "", 1, "", ""},
    {"-cmoed --spec-draft-cpu-moe --cpu-moe-draft", "LLAMA_ARG_SPEC_DRAFT_CPU_MOE", 0, "off", ""},
    {"-ncmoed --spec-draft-n-cpu-moe --spec-draft-ncmoe --n-cpu-moe-draft", "LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE",
     1, "", ""},
    {"--spec-draft-n-max", "LLAMA_ARG_SPEC_DRAFT_N_MAX", 1, "", ""},
    {"--spec-draft-n-min", "LLAMA_ARG_SPEC_DRAFT_N_MIN", 1, "", ""},
    {"--spec-draft-p-split --draft-p-split", "LLAMA_ARG_SPEC_DRAFT_P_SPLIT", 1, "", ""},
    {"--spec-draft-p-min --draft-p-min", "LLAMA_ARG_SPEC_DRAFT_P_MIN", 1, "", ""},
    {"--spec-draft-backend-sampling", "LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING", 0, "off",
     "--no-spec-draft-backend-sampling"},
    {"--spec-draft-sampling", "LLAMA_ARG_SPEC_DRAFT_SAMPLING", 1, "", ""},
    {"-devd --spec-draft-device --device-draft", "", 1, "", ""},
    {"-ngld --spec-draft-ngl --gpu-layers-draft --n-gpu-layers-draft", "LLAMA_ARG_N_GPU_LAYERS_DRAFT", 1, "",
     ""},
    {"--spec-synth-len", "LLAMA_ARG_SPEC_SYNTH_LEN", 1, "", ""},
    {"--spec-synth-rates", "LLAMA_ARG_SPEC_SYNTH_RATES", 1, "", ""},
    {"--spec-ngram-mod-n-min", "", 1, "", ""},
    {"--spec-ngram-mod-n-max", "", 1, "", ""},
    {"--spec-ngram-mod-n-match", "", 1, "", ""},
    {"--spec-ngram-simple-size-n", "", 1, "", ""},
    {"--spec-ngram-simple-size-m", "", 1, "", ""},
    {"--spec-ngram-simple-min-hits", "", 1, "", ""},
    {"--spec-ngram-map-k-size-n", "", 1, "", ""},
    {"--spec-ngram-map-k-size-m", "", 1, "", ""},
    {"--spec-ngram-map-k-min-hits", "", 1, "", ""},
    {"--spec-ngram-map-k4v-size-n", "", 1, "", ""},
    {"--spec-ngram-map-k4v-size-m", "", 1, "", ""},
    {"--spec-ngram-map-k4v-min-hits", "", 1, "", ""},
    {"-lcs --lookup-cache-static", "", 1, "", ""},
    {"-lcd --lookup-cache-dynamic", "", 1, "", ""},
    {"-bs --backend-sampling", "LLAMA_ARG_BACKEND_SAMPLING", 0, "off", ""},
    // Caches.
    {"--cache-reuse", "LLAMA_ARG_CACHE_REUSE", 1, "0", ""},
    {"-ctxcp --ctx-checkpoints --swa-checkpoints", "LLAMA_ARG_CTX_CHECKPOINTS", 1, "0", ""},
    {"-cms --checkpoint-min-step", "LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT", 1, "*", ""},
    {"--context-shift", "LLAMA_ARG_CONTEXT_SHIFT", 0, "off", "--no-context-shift"},
    {"-dt --defrag-thold", "LLAMA_ARG_DEFRAG_THOLD", 1, "*", ""},
    // Fitting, memory, processors.
    {"-fit --fit", "LLAMA_ARG_FIT", 1, "off disabled false 0", ""},
    {"-fitt --fit-target", "LLAMA_ARG_FIT_TARGET", 1, "*", ""},
    {"-fitc --fit-ctx", "LLAMA_ARG_FIT_CTX", 1, "*", ""},
    {"-lzm --lazy-mode", "LLAMA_ARG_LAZY_MODE", 1, "off", ""},
    {"-ncffn --n-cpu-ffn", "LLAMA_ARG_N_CPU_FFN", 1, "0", ""},
    {"--no-host", "LLAMA_ARG_NO_HOST", 0, "off", ""},
    {"--rpc", "LLAMA_ARG_RPC", 1, "", ""},
    {"--list-devices", "", 0, "off", ""},
    {"-C --cpu-mask", "", 1, "", ""},
    {"-Cr --cpu-range", "", 1, "", ""},
    {"--cpu-strict", "", 1, "0", ""},
    {"--prio", "", 1, "0", ""},
    {"--poll", "", 1, "50", ""},
    {"-Cb --cpu-mask-batch", "", 1, "", ""},
    {"-Crb --cpu-range-batch", "", 1, "", ""},
    {"--cpu-strict-batch", "", 1, "0", ""},
    {"--prio-batch", "", 1, "0", ""},
    {"--poll-batch", "", 1, "", ""},
    {"--perf", "LLAMA_ARG_PERF", 0, "*", "--no-perf"},
    // Chat, reasoning, tools, page.
    {"--chat-template-kwargs", "LLAMA_ARG_CHAT_TEMPLATE_KWARGS", 1, "{}", ""},
    {"--reasoning-format", "LLAMA_ARG_THINK", 1, "none", ""},
    {"-rea --reasoning", "LLAMA_ARG_REASONING", 1, "auto", ""},
    {"--reasoning-effort", "LLAMA_ARG_REASONING_EFFORT", 1, "default", ""},
    {"--reasoning-budget", "LLAMA_ARG_THINK_BUDGET", 1, "-1", ""},
    {"--reasoning-budget-message", "LLAMA_ARG_THINK_BUDGET_MESSAGE", 1, "", ""},
    {"--reasoning-preserve", "LLAMA_ARG_REASONING_PRESERVE", 0, "off", "--no-reasoning-preserve"},
    {"--skip-chat-parsing", "LLAMA_ARG_SKIP_CHAT_PARSING", 0, "*", "--no-skip-chat-parsing"},
    {"-j --json-schema", "", 1, "", ""},
    {"-jf --json-schema-file", "", 1, "", ""},
    {"--tools", "LLAMA_ARG_TOOLS", 1, "", ""},
    {"--tools-runtime", "LLAMA_ARG_TOOLS_RUNTIME", 1, "", ""},
    {"--mcp-servers-config", "LLAMA_ARG_MCP_SERVERS_CONFIG", 1, "", ""},
    {"--mcp-servers-json", "LLAMA_ARG_MCP_SERVERS_JSON", 1, "", ""},
    {"-ag --agent", "LLAMA_ARG_AGENT", 0, "off", "-no-ag --no-agent"},
    {"--ui --webui", "LLAMA_ARG_UI", 0, "off", "--no-ui --no-webui"},
    {"--ui-config --webui-config", "LLAMA_ARG_UI_CONFIG", 1, "", ""},
    {"--ui-config-file --webui-config-file", "LLAMA_ARG_UI_CONFIG_FILE", 1, "", ""},
    {"--ui-mcp-proxy --webui-mcp-proxy", "LLAMA_ARG_UI_MCP_PROXY", 0, "off",
     "--no-ui-mcp-proxy --no-webui-mcp-proxy"},
    {"--path", "LLAMA_ARG_STATIC_PATH", 1, "", ""},
    // The rest.
    {"--ssl-key-file", "LLAMA_ARG_SSL_KEY_FILE", 1, "", ""},
    {"--ssl-cert-file", "LLAMA_ARG_SSL_CERT_FILE", 1, "", ""},
    {"--sleep-idle-seconds", "", 1, "-1", ""},
    {"--log-prompts-dir", "", 1, "", ""},
    {"--completion-bash", "", 0, "off", ""},
    // Gone from llama-server as well, which names them in an error of its own.
    {"--draft --draft-n --draft-max", "LLAMA_ARG_DRAFT_MAX", 1, "", ""},
    {"--draft-min --draft-n-min", "LLAMA_ARG_DRAFT_MIN", 1, "", ""},
    {"--spec-ngram-size-n", "", 1, "", ""},
    {"--spec-ngram-size-m", "", 1, "", ""},
    {"--spec-ngram-min-hits", "", 1, "", ""},
};

}  // namespace

const std::vector<NotYet>& not_yet_flags() {
    static const std::vector<NotYet> table(std::begin(kTable), std::end(kTable));
    return table;
}

bool is_harmless(const NotYet& flag, std::string_view value) {
    if (flag.harmless == "*") return true;
    if (flag.values == 0) return switch_of(value).has_value() && switch_of(value) == switch_of(flag.harmless);
    for (const std::string& word : words_of(flag.harmless)) {
        if (word == value) return true;
    }
    return false;
}

std::string_view name_of(const NotYet& flag) {
    const std::size_t at = flag.names.find("--");
    const std::size_t end = flag.names.find(' ', at);
    return flag.names.substr(at, end == std::string_view::npos ? end : end - at);
}

}  // namespace kvalet::cli
