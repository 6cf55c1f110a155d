// The table of flags: the KV pool, its slots, batches and threads.
#include "cli/values.h"

namespace kvalet::cli {

namespace {

/// libllama's limit of sequences in one context.
constexpr int kMaxSlots = 256;
/// More threads than this is a typing error; it also bounds what the thread pools allocate.
constexpr int kMaxThreads = 1024;

Status set_parallel(ServeOptions& o, const std::string& value) {
    const auto n = integer_of(value);
    if (!n || *n == 0 || *n < ContextOptions::kAutoParallel || *n > kMaxSlots) {
        return expected("a number of slots from 1 to " + std::to_string(kMaxSlots) + ", or -1 for auto");
    }
    o.context.n_slots = static_cast<int>(*n);
    return Unit{};
}

Setter as_toggle(Toggle ContextOptions::*field) {
    return [field](ServeOptions& o, const std::string& value) -> Status {
        const std::optional<Toggle> toggle = toggle_of(value);
        if (!toggle) return expected("on, off or auto");
        o.context.*field = *toggle;
        return Unit{};
    };
}

Setter as_cache_type(CacheType ContextOptions::*field) {
    return as_choice([field](ServeOptions& o) -> CacheType& { return o.context.*field; },
                     std::vector<std::pair<std::string, CacheType>>{{"f32", CacheType::f32},
                                                                    {"f16", CacheType::f16},
                                                                    {"bf16", CacheType::bf16},
                                                                    {"q8_0", CacheType::q8_0},
                                                                    {"q4_0", CacheType::q4_0},
                                                                    {"q4_1", CacheType::q4_1},
                                                                    {"iq4_nl", CacheType::iq4_nl},
                                                                    {"q5_0", CacheType::q5_0},
                                                                    {"q5_1", CacheType::q5_1}});
}

Setter as_factor(float ContextOptions::*field) {
    return as_number([field](ServeOptions& o) -> float& { return o.context.*field; });
}

Status set_rope_scale(ServeOptions& o, const std::string& value) {
    const std::optional<float> factor = number_of(value);
    if (!factor || *factor <= 0) return expected("a factor above 0");
    o.context.rope_freq_scale = 1.0F / *factor;
    return Unit{};
}

void add_pool(std::vector<Flag>& t) {
    const Group g = Group::context;
    add(t, g, "ctx-size -c", "", "LLAMA_ARG_CTX_SIZE", "N", "0",
        "Cells of the KV pool, one for each token; 0: what the model was trained with.",
        as_integer([](ServeOptions& o) -> std::int64_t& { return o.context.n_ctx; }, 0));
    add(t, g, "parallel -np", "", "LLAMA_ARG_N_PARALLEL", "N", "-1",
        "Slots: requests that are worked on at a time. -1: 4 slots that share one pool. A number given here "
        "splits the pool among the slots unless --kv-unified is given as well.",
        set_parallel);
    add(t, g, "kv-unified -kvu", "-no-kvu --no-kv-unified", "LLAMA_ARG_KV_UNIFIED", "", "",
        "One pool for all slots; parking needs it. On with --parallel -1, else off.",
        as_switch([](ServeOptions& o) -> bool& { return o.context.unified; }));
    add(t, g, "kv-unified-per-slot", "", "LLAMA_ARG_KV_UNIFIED_PER_SLOT", "N", "0",
        "Most cells that one slot may use; without --ctx-size the pool has this many for each slot. 0: no "
        "limit of its own.",
        as_integer([](ServeOptions& o) -> std::int64_t& { return o.context.n_ctx_slot_max; }, 0));
    add(t, g, "cache-type-k -ctk", "", "LLAMA_ARG_CACHE_TYPE_K", "TYPE", "f16",
        "Type of K in the pool: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1.",
        as_cache_type(&ContextOptions::cache_type_k));
    add(t, g, "cache-type-v -ctv", "", "LLAMA_ARG_CACHE_TYPE_V", "TYPE", "f16",
        "Type of V in the pool, as for --cache-type-k.", as_cache_type(&ContextOptions::cache_type_v));
    add(t, g, "kv-offload -kvo", "-nkvo --no-kv-offload", "LLAMA_ARG_KV_OFFLOAD", "", "on",
        "Keep the pool on the GPU.",
        as_switch([](ServeOptions& o) -> bool& { return o.context.kv_offload; }));
    add(t, g, "op-offload", "--no-op-offload", "", "", "on",
        "Let the GPU do operations on tensors in host memory.",
        as_switch([](ServeOptions& o) -> bool& { return o.context.op_offload; }));
    add(t, g, "swa-full", "", "LLAMA_ARG_SWA_FULL", "", "off",
        "Keep all cells of layers with a sliding window.",
        as_switch([](ServeOptions& o) -> bool& { return o.context.swa_full; }));
    add(t, g, "flash-attn -fa", "", "LLAMA_ARG_FLASH_ATTN", "on|off|auto", "auto", "Flash attention.",
        as_toggle(&ContextOptions::flash_attn));
}

void add_batches(std::vector<Flag>& t) {
    const Group g = Group::context;
    add(t, g, "batch-size -b", "", "LLAMA_ARG_BATCH", "N", "2048", "Most tokens in one step.",
        as_integer([](ServeOptions& o) -> int& { return o.context.n_batch; }, 1));
    add(t, g, "ubatch-size -ub", "", "LLAMA_ARG_UBATCH", "N", "512",
        "Most tokens that are computed at once; a larger step is cut into such parts.",
        as_integer([](ServeOptions& o) -> int& { return o.context.n_ubatch; }, 1));
    add(t, g, "threads -t", "", "LLAMA_ARG_THREADS", "N", "-1",
        "Threads that generate; -1: one for each core.",
        as_integer([](ServeOptions& o) -> int& { return o.context.n_threads; }, -1, kMaxThreads));
    add(t, g, "threads-batch -tb", "", "", "N", "-1", "Threads that process prompts; -1: as --threads.",
        as_integer([](ServeOptions& o) -> int& { return o.context.n_threads_batch; }, -1, kMaxThreads));
}

void add_rope(std::vector<Flag>& t) {
    const Group g = Group::context;
    add(t, g, "rope-scaling", "", "LLAMA_ARG_ROPE_SCALING_TYPE", "TYPE", "",
        "RoPE scaling: none, linear or yarn; else as the model says.",
        as_choice(
            [](ServeOptions& o) -> RopeScaling& { return o.context.rope_scaling; },
            std::vector<std::pair<std::string, RopeScaling>>{
                {"none", RopeScaling::none}, {"linear", RopeScaling::linear}, {"yarn", RopeScaling::yarn}}));
    add(t, g, "rope-scale", "", "LLAMA_ARG_ROPE_SCALE", "X", "", "Context grows by this factor.",
        set_rope_scale);
    add(t, g, "rope-freq-base", "", "LLAMA_ARG_ROPE_FREQ_BASE", "X", "",
        "RoPE base frequency; else as the model says.", as_factor(&ContextOptions::rope_freq_base));
    add(t, g, "rope-freq-scale", "", "LLAMA_ARG_ROPE_FREQ_SCALE", "X", "", "Context grows by 1/X.",
        as_factor(&ContextOptions::rope_freq_scale));
    add(t, g, "yarn-orig-ctx", "", "LLAMA_ARG_YARN_ORIG_CTX", "N", "0",
        "YaRN: context the model was trained with; 0: as the model says.",
        as_integer([](ServeOptions& o) -> int& { return o.context.yarn_orig_ctx; }, 0));
    add(t, g, "yarn-ext-factor", "", "LLAMA_ARG_YARN_EXT_FACTOR", "X", "-1",
        "YaRN: extrapolation mix; negative: as the model says.", as_factor(&ContextOptions::yarn_ext_factor));
    add(t, g, "yarn-attn-factor", "", "LLAMA_ARG_YARN_ATTN_FACTOR", "X", "-1",
        "YaRN: scale of the attention.", as_factor(&ContextOptions::yarn_attn_factor));
    add(t, g, "yarn-beta-slow", "", "LLAMA_ARG_YARN_BETA_SLOW", "X", "-1", "YaRN: high correction dimension.",
        as_factor(&ContextOptions::yarn_beta_slow));
    add(t, g, "yarn-beta-fast", "", "LLAMA_ARG_YARN_BETA_FAST", "X", "-1", "YaRN: low correction dimension.",
        as_factor(&ContextOptions::yarn_beta_fast));
}

}  // namespace

void add_context_flags(std::vector<Flag>& table) {
    add_pool(table);
    add_batches(table);
    add_rope(table);
}

}  // namespace kvalet::cli
