#include "cli/load_llama.h"

#include <filesystem>
#include <fstream>

#include "cli/logging.h"
#include "engine/llama_backend.h"
#include "text/llama_text_model.h"

namespace kvalet::cli {

namespace {

/// Names of the tensors that hold the weights of experts, as a pattern for --override-tensor.
constexpr const char* kExperts = R"(\.ffn_(up|down|gate|gate_up)_(ch|)exps)";
constexpr const char* kHostBuffer = "CPU";

const char* name_of(CacheType type) {
    switch (type) {
        case CacheType::f32:
            return "f32";
        case CacheType::f16:
            return "f16";
        case CacheType::bf16:
            return "bf16";
        case CacheType::q8_0:
            return "q8_0";
        case CacheType::q4_0:
            return "q4_0";
        case CacheType::q4_1:
            return "q4_1";
        case CacheType::iq4_nl:
            return "iq4_nl";
        case CacheType::q5_0:
            return "q5_0";
        case CacheType::q5_1:
            return "q5_1";
    }
    return "f16";
}

/// libllama's numbers: auto -1, none 0, mmap 1, mlock 2, mmap+mlock 3, direct I/O 4.
std::int32_t number_of(LoadMode mode) {
    switch (mode) {
        case LoadMode::automatic:
            return -1;
        case LoadMode::none:
            return 0;
        case LoadMode::mmap:
            return 1;
        case LoadMode::mlock:
            return 2;
        case LoadMode::mmap_mlock:
            return 3;
        case LoadMode::direct_io:
            return 4;
    }
    return -1;
}

std::int32_t number_of(Toggle toggle) {
    switch (toggle) {
        case Toggle::automatic:
            return -1;
        case Toggle::off:
            return 0;
        case Toggle::on:
            return 1;
    }
    return -1;
}

std::vector<std::pair<std::string, std::string>> tensor_overrides(const ModelOptions& model) {
    auto overrides = model.override_tensor;
    if (model.cpu_moe) overrides.emplace_back(kExperts, kHostBuffer);
    for (int layer = 0; layer < model.n_cpu_moe; ++layer) {
        overrides.emplace_back("blk\\." + std::to_string(layer) + kExperts, kHostBuffer);
    }
    return overrides;
}

std::vector<engine::LlamaKvOverride> kv_overrides(const ModelOptions& model) {
    using Theirs = engine::LlamaKvOverride::Type;
    std::vector<engine::LlamaKvOverride> overrides;
    for (const KvOverride& ours : model.override_kv) {
        Theirs type = Theirs::string;
        if (ours.type == KvOverride::Type::integer) type = Theirs::integer;
        if (ours.type == KvOverride::Type::real) type = Theirs::real;
        if (ours.type == KvOverride::Type::boolean) type = Theirs::boolean;
        overrides.push_back({ours.key, type, ours.value});
    }
    return overrides;
}

void set_context(const ContextOptions& from, engine::LlamaOptions& to) {
    to.n_ctx = static_cast<std::uint32_t>(from.n_ctx);
    to.n_slots = from.n_slots;
    to.unified = from.unified;
    to.n_ctx_slot_max = from.n_ctx_slot_max;
    to.n_batch = static_cast<std::uint32_t>(from.n_batch);
    to.n_ubatch = static_cast<std::uint32_t>(from.n_ubatch);
    to.n_threads = from.n_threads;
    to.n_threads_batch = from.n_threads_batch;
    to.flash_attn = number_of(from.flash_attn);
    to.cache_type_k = name_of(from.cache_type_k);
    to.cache_type_v = name_of(from.cache_type_v);
    to.kv_offload = from.kv_offload;
    to.op_offload = from.op_offload;
    to.swa_full = from.swa_full;
    to.rope_scaling =
        static_cast<std::int32_t>(from.rope_scaling) - 1;  // libllama: unspecified -1, none 0, …
    to.rope_freq_base = from.rope_freq_base;
    to.rope_freq_scale = from.rope_freq_scale;
    to.yarn_orig_ctx = static_cast<std::uint32_t>(from.yarn_orig_ctx);
    to.yarn_ext_factor = from.yarn_ext_factor;
    to.yarn_attn_factor = from.yarn_attn_factor;
    to.yarn_beta_slow = from.yarn_beta_slow;
    to.yarn_beta_fast = from.yarn_beta_fast;
}

Error model_error(const std::string& path, const std::string& what) {
    return make_error(ErrorKind::invalid_request, "--model: " + what + ": " + one_line(path));
}

Status check_file(const ServeOptions& options) {
    const std::string& path = options.model.path;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return model_error(path, "there is no such file");
    if (!std::filesystem::is_regular_file(path, ignored)) return model_error(path, "that is not a file");
    char magic[4] = {};
    std::ifstream file(path, std::ios::binary);
    if (!file) return model_error(path, "the file cannot be read");
    file.read(magic, sizeof magic);
    if (std::string_view(magic, sizeof magic) != "GGUF") return model_error(path, "that is not a GGUF file");
    return Unit{};
}

Result<Loaded> load(const ServeOptions& options) {
    Result<std::unique_ptr<engine::LlamaBackend>> backend =
        engine::LlamaBackend::load(llama_options_of(options));
    if (!backend) return backend.error();
    text::LlamaTextOptions text_options;
    text_options.path = options.model.path;
    text_options.alias = options.model.aliases.empty() ? "" : options.model.aliases.front();
    text_options.chat_template = options.server.chat_template;
    text_options.special = options.server.special;
    Loaded loaded;
    loaded.text = text::make_llama_text_model((*backend)->model(), std::move(text_options));
    loaded.backend = *std::move(backend);
    return loaded;
}

}  // namespace

engine::LlamaOptions llama_options_of(const ServeOptions& options) {
    engine::LlamaOptions made;
    const ModelOptions& model = options.model;
    made.model_path = model.path;
    set_context(options.context, made);
    made.n_gpu_layers = model.gpu_layers;
    made.devices = model.devices;
    made.split_mode = static_cast<std::int32_t>(model.split_mode);  // in libllama's order
    made.tensor_split = model.tensor_split;
    made.main_gpu = model.main_gpu;
    made.override_tensor = tensor_overrides(model);
    made.load_mode = number_of(model.load_mode);
    made.numa = static_cast<std::int32_t>(model.numa);  // in ggml's order
    made.override_kv = kv_overrides(model);
    made.check_tensors = model.check_tensors;
    made.repack = model.repack;
    made.warmup = model.warmup;
    made.log = libllama_log();
    return made;
}

Loader llama_loader() {
    return {check_file, load};
}

}  // namespace kvalet::cli
