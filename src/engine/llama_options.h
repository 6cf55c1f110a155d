// How a model is loaded, as plain data: what llama_backend.cpp needs of the command line. GPU options are
// passed through to libllama; they are untested here, where there is no GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvalet::engine {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct LlamaKvOverride {
    enum class Type : std::uint8_t { integer, real, boolean, string };
    std::string key;
    Type type = Type::string;
    std::string value;  // checked to be of its type
};

struct LlamaOptions {
    std::string model_path;

    // Context. -1 or 0 as said: what libllama or the model chooses.
    std::uint32_t n_ctx = 0;  // 0: n_ctx_train
    std::int32_t n_slots = 4;
    bool unified = true;
    std::int64_t n_ctx_slot_max = 0;  // 0: none
    std::uint32_t n_batch = 2048;
    std::uint32_t n_ubatch = 512;
    std::int32_t n_threads = -1;        // -1: as many as there are cores
    std::int32_t n_threads_batch = -1;  // -1: as n_threads
    std::int32_t flash_attn = -1;       // -1 auto, 0 off, 1 on
    std::string cache_type_k = "f16";
    std::string cache_type_v = "f16";
    bool kv_offload = true;
    bool op_offload = true;
    bool swa_full = false;
    std::int32_t rope_scaling = -1;  // libllama's enum; -1: from the model
    float rope_freq_base = 0;
    float rope_freq_scale = 0;
    std::uint32_t yarn_orig_ctx = 0;
    float yarn_ext_factor = -1;
    float yarn_attn_factor = -1;
    float yarn_beta_slow = -1;
    float yarn_beta_fast = -1;

    // Model.
    std::int32_t n_gpu_layers = -1;    // -1: all that fit is libllama's choice
    std::vector<std::string> devices;  // {"none"}: no offloading
    std::int32_t split_mode = 1;       // libllama's enum: none, layer, row, tensor
    std::vector<float> tensor_split;
    std::int32_t main_gpu = 0;
    std::vector<std::pair<std::string, std::string>> override_tensor;  // pattern, buffer type
    std::int32_t load_mode = -1;                                       // libllama's enum; -1: auto
    std::int32_t numa = 0;                                             // ggml's enum
    std::vector<LlamaKvOverride> override_kv;
    bool check_tensors = false;
    bool repack = true;
    bool warmup = true;

    /// Lines of libllama's own log, without the newline. Any thread.
    std::function<void(LogLevel, std::string_view)> log;
};

}  // namespace kvalet::engine
