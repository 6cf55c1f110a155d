// What the command line, the environment and the config files say about a server, as plain data. Names,
// defaults and short forms are llama-server's (llama-server-api 2); preemption's are P5's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/config.h"
#include "core/result.h"
#include "sched/policy.h"
#include "text/params.h"

namespace kvalet::cli {

enum class SplitMode : std::uint8_t { none, layer, row, tensor };
enum class LoadMode : std::uint8_t { automatic, none, mmap, mlock, mmap_mlock, direct_io };
enum class Numa : std::uint8_t { off, distribute, isolate, numactl };
enum class Toggle : std::uint8_t { off, on, automatic };
enum class CacheType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1 };
enum class RopeScaling : std::uint8_t { from_model, none, linear, yarn };

/// --override-kv KEY=TYPE:VALUE, taken apart; the value is checked to be of its type.
struct KvOverride {
    enum class Type : std::uint8_t { integer, real, boolean, string };
    std::string key;
    Type type = Type::string;
    std::string value;
};

struct ModelOptions {
    static constexpr int kAutoLayers = -1;
    static constexpr int kAllLayers = -2;
    std::string path;
    std::vector<std::string> aliases;
    std::vector<std::string> tags;
    int gpu_layers = kAutoLayers;
    std::vector<std::string> devices;  // by libllama's names; {"none"}: no offloading
    SplitMode split_mode = SplitMode::layer;
    std::vector<float> tensor_split;
    int main_gpu = 0;
    std::vector<std::pair<std::string, std::string>> override_tensor;  // pattern, buffer type
    bool cpu_moe = false;
    int n_cpu_moe = 0;  // the expert weights of the first N layers stay in host memory
    LoadMode load_mode = LoadMode::automatic;
    Numa numa = Numa::off;
    std::vector<KvOverride> override_kv;
    bool check_tensors = false;
    bool repack = true;
    bool warmup = true;
};

struct ContextOptions {
    static constexpr int kAutoParallel = -1;
    std::int64_t n_ctx = 0;       // 0: what the model was trained with
    int n_slots = kAutoParallel;  // after parsing: at least 1
    bool unified = false;         // after parsing: settled
    std::int64_t n_ctx_slot_max = 0;
    int n_batch = 2048;
    int n_ubatch = 512;
    int n_threads = -1;        // -1: as many as there are cores
    int n_threads_batch = -1;  // -1: as n_threads
    Toggle flash_attn = Toggle::automatic;
    CacheType cache_type_k = CacheType::f16;
    CacheType cache_type_v = CacheType::f16;
    bool kv_offload = true;
    bool op_offload = true;
    bool swa_full = false;
    RopeScaling rope_scaling = RopeScaling::from_model;
    float rope_freq_base = 0;    // 0: from the model
    float rope_freq_scale = 0;   // 0: from the model
    int yarn_orig_ctx = 0;       // 0: from the model
    float yarn_ext_factor = -1;  // negative: from the model
    float yarn_attn_factor = -1;
    float yarn_beta_slow = -1;
    float yarn_beta_fast = -1;
};

struct HttpOptions {
    std::vector<std::string> hosts = {"127.0.0.1"};  // addresses, or paths of UNIX sockets that end in .sock
    int port = 8080;                                 // 0: any free one
    bool reuse_port = false;
    std::string api_prefix;  // begins with '/', does not end with one; empty: none
    std::vector<std::string> api_keys;
    std::string cors_origins = "*";
    std::string cors_methods = "GET, POST, DELETE, OPTIONS";
    std::string cors_headers = "*";
    bool cors_credentials = true;
    int timeout_s = 3600;        // of one read or write while a request is being answered
    int worker_threads = -1;     // -1: max(slots + 4, cores - 1)
    int sse_ping_interval = 30;  // seconds; <= 0: off
    bool keepalive_body = false;
    // Named limits of ours.
    std::int64_t max_body_mib = 64;
    int max_header_kib = 64;
    int header_timeout_s = 30;
    int body_timeout_s = 900;
    int idle_timeout_s = 75;
    int slow_client_timeout_s = 600;  // 0: as timeout_s
    int max_connections = 4096;
};

struct ServerOptions {
    bool metrics = false;
    bool slots = true;
    bool props = false;
    std::string slot_save_path;  // ends with '/'; empty: off
    float slot_prompt_similarity = 0.1F;
    bool cache_prompt = true;
    std::int64_t cache_ram_bytes = 8192 * sched::kMiB;  // 0: off; sched::kUnlimited: no limit
    bool cache_idle_slots = true;
    std::string chat_template;  // a built-in name or a source; empty: the model's
    bool jinja = true;
    bool special = false;  // replies show special tokens
    bool prefill_assistant = true;
    int n_keep = 0;
};

struct PreemptOptions {
    sched::Policy policy;            // settled: preset, then single flags (P5)
    std::string preset = "default";  // the name that policy was made from
    int queue_max = 1024;
    int priority_max = 100;         // P7.1
    std::int64_t park_ttl_s = 600;  // P7.3; 0: no limit
    api::SseNotices sse_notices = api::SseNotices::comments;
    std::int64_t preempt_every = 0;  // LLAMA_SERVER_PREEMPT_EVERY (P1.4); 0: off
};

struct LogOptions {
    static constexpr int kMaxVerbosity = 1'000'000;
    int verbosity = 3;     // 0 nothing but fatal ones, 1 error, 2 warning, 3 info, 4 more, 5 debug
    bool verbose = false;  // -v: everything, and `__verbose` in replies
    std::string file;
    bool jsonl = false;
    Toggle colors = Toggle::automatic;
    bool prefix = true;
    bool timestamps = true;
    bool disabled = false;
};

/// All that a server is started with.
struct ServeOptions {
    ModelOptions model;
    ContextOptions context;
    HttpOptions http;
    ServerOptions server;
    PreemptOptions preempt;
    LogOptions log;
    text::TextDefaults text;
    /// Canonical long names (without dashes) of the flags that were given, from whatever source. A sampling
    /// default of the model's file must not win over one of these (llama-server-api 1.5).
    std::set<std::string, std::less<>> given;
    bool escape =
        true;  // --escape: \n and the like in -r and --dry-sequence-breaker stand for what they name
    bool help = false;
    bool version = false;

    [[nodiscard]] bool is_given(std::string_view flag) const { return given.find(flag) != given.end(); }
};

/// Where values come from besides the arguments. Tests hand in their own.
struct Environment {
    std::function<std::optional<std::string>(const std::string& name)> variable;
    std::vector<std::string> config_files;  // a later one wins; missing ones are skipped
    unsigned cores = 1;
};

/// The process's own: getenv, /etc/llama.cpp/config.ini and
/// ${XDG_CONFIG_HOME:-~/.config}/llama.cpp/config.ini.
[[nodiscard]] Environment process_environment();

struct Parsed {
    ServeOptions options;
    std::vector<std::string> warnings;  // one line each
};

/// Reads config files, then variables, then arguments (without the program's name); what comes later wins.
/// The error is one line that names the flag, variable or file and what was expected. With --help or
/// --version nothing else is checked.
[[nodiscard]] Result<Parsed> parse_options(const std::vector<std::string>& args,
                                           const Environment& environment);

/// The text of --help: every flag once, in its group.
[[nodiscard]] std::string help_text();
/// docs/flags.md.
[[nodiscard]] std::string flags_markdown();

}  // namespace kvalet::cli
