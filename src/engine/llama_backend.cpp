#include "engine/llama_backend.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ggml-backend.h>
#include <llama.h>
#include <mutex>
#include <thread>
#include <vector>

#include "core/assert.h"

namespace kvalet::engine {

namespace {

struct ModelDeleter {
    void operator()(llama_model* m) const { llama_model_free(m); }
};
struct ContextDeleter {
    void operator()(llama_context* c) const { llama_free(c); }
};
using ModelPtr = std::unique_ptr<llama_model, ModelDeleter>;
using ContextPtr = std::unique_ptr<llama_context, ContextDeleter>;

// ---- libllama's log, which is one for the process
// -------------------------------------------------------------------

struct LogSink {
    std::mutex mutex;
    std::function<void(LogLevel, std::string_view)> write;
    std::string line;
    LogLevel level = LogLevel::info;
};

LogSink& log_sink() {
    static LogSink sink;
    return sink;
}

void on_log(ggml_log_level level, const char* text, void*) {
    LogSink& sink = log_sink();
    const std::lock_guard lock(sink.mutex);
    if (level != GGML_LOG_LEVEL_CONT) {
        sink.level = level == GGML_LOG_LEVEL_ERROR  ? LogLevel::error
                     : level == GGML_LOG_LEVEL_WARN ? LogLevel::warning
                     : level == GGML_LOG_LEVEL_INFO ? LogLevel::info
                                                    : LogLevel::debug;
    }
    sink.line += text;
    for (std::size_t end = 0; (end = sink.line.find('\n')) != std::string::npos;) {
        if (sink.write && end > 0) {
            sink.write(sink.level, std::string_view(sink.line).substr(0, end));
        }
        sink.line.erase(0, end + 1);
    }
}

// ---- options -> libllama's structs
// ----------------------------------------------------------------------------------

Result<ggml_type> cache_type(const std::string& name, const char* flag) {
    constexpr std::array types = {GGML_TYPE_F32,    GGML_TYPE_F16,  GGML_TYPE_BF16,
                                  GGML_TYPE_Q8_0,   GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                                  GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1};
    for (const ggml_type t : types) {
        if (name == ggml_type_name(t)) {
            return t;
        }
    }
    return make_error(ErrorKind::invalid_request, std::string(flag) + ": unknown cache type '" + name + "'");
}

/// What llama_model_params points to while the model is loaded.
struct ModelParams {
    llama_model_params params = llama_model_default_params();
    std::vector<ggml_backend_dev_t> devices;
    std::vector<float> tensor_split;
    std::vector<llama_model_kv_override> kv_overrides;
    std::vector<llama_model_tensor_buft_override> buft_overrides;
};

llama_model_kv_override kv_override_of(const LlamaKvOverride& o) {
    llama_model_kv_override kv{};
    o.key.copy(kv.key, sizeof(kv.key) - 1);
    switch (o.type) {
        case LlamaKvOverride::Type::integer:
            kv.tag = LLAMA_KV_OVERRIDE_TYPE_INT;
            kv.val_i64 = std::stoll(o.value);
            break;
        case LlamaKvOverride::Type::real:
            kv.tag = LLAMA_KV_OVERRIDE_TYPE_FLOAT;
            kv.val_f64 = std::stod(o.value);
            break;
        case LlamaKvOverride::Type::boolean:
            kv.tag = LLAMA_KV_OVERRIDE_TYPE_BOOL;
            kv.val_bool = o.value == "true";
            break;
        case LlamaKvOverride::Type::string:
            kv.tag = LLAMA_KV_OVERRIDE_TYPE_STR;
            o.value.copy(kv.val_str, sizeof(kv.val_str) - 1);
            break;
    }
    return kv;
}

ggml_backend_buffer_type_t buffer_type(const std::string& name) {
    for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(ggml_backend_dev_get(i));
        if (type != nullptr && name == ggml_backend_buft_name(type)) {
            return type;
        }
    }
    return nullptr;
}

Status choose_devices(const LlamaOptions& o, ModelParams& m) {
    for (const std::string& name : o.devices) {
        if (name == "none") {
            continue;
        }
        ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str());
        if (device == nullptr) {
            return make_error(ErrorKind::invalid_request,
                              "--device: libllama knows no device '" + name + "'");
        }
        m.devices.push_back(device);
    }
    if (!o.devices.empty()) {
        m.devices.push_back(nullptr);
        m.params.devices = m.devices.data();
    }
    if (!o.tensor_split.empty()) {
        m.tensor_split = o.tensor_split;
        m.tensor_split.resize(llama_max_devices(), 0.0F);
        m.params.tensor_split = m.tensor_split.data();
    }
    for (const auto& [pattern, type] : o.override_tensor) {
        ggml_backend_buffer_type_t found = buffer_type(type);
        if (found == nullptr) {
            return make_error(ErrorKind::invalid_request,
                              "--override-tensor: libllama knows no buffer type '" + type + "'");
        }
        m.buft_overrides.push_back({pattern.c_str(), found});
    }
    if (!m.buft_overrides.empty()) {
        m.buft_overrides.push_back({nullptr, nullptr});
        m.params.tensor_buft_overrides = m.buft_overrides.data();
    }
    return Unit{};
}

Status fill_model_params(const LlamaOptions& o, ModelParams& m) {
    if (const Status s = choose_devices(o, m); !s) {
        return s.error();
    }
    m.params.n_gpu_layers = o.n_gpu_layers;
    m.params.split_mode = static_cast<llama_split_mode>(o.split_mode);
    m.params.main_gpu = o.main_gpu;
    m.params.load_mode = static_cast<llama_load_mode>(o.load_mode);
    m.params.check_tensors = o.check_tensors;
    m.params.use_extra_bufts = o.repack;
    for (const LlamaKvOverride& kv : o.override_kv) {
        m.kv_overrides.push_back(kv_override_of(kv));
    }
    if (!m.kv_overrides.empty()) {
        m.kv_overrides.push_back({});  // an empty key ends the list
        m.params.kv_overrides = m.kv_overrides.data();
    }
    return Unit{};
}

std::int32_t thread_count(std::int32_t asked) {
    return asked > 0 ? asked : std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

Result<llama_context_params> context_params(const LlamaOptions& o) {
    llama_context_params p = llama_context_default_params();
    const auto k = cache_type(o.cache_type_k, "--cache-type-k");
    const auto v = cache_type(o.cache_type_v, "--cache-type-v");
    if (!k || !v) {
        return k ? v.error() : k.error();
    }
    p.n_ctx = o.n_ctx;
    p.n_batch = o.n_batch;
    p.n_ubatch = std::min(o.n_ubatch, o.n_batch);
    p.n_seq_max = static_cast<std::uint32_t>(o.n_slots);
    // One row of logits for each slot is all that a step asks for; the default would keep room for a row for
    // each token.
    p.n_outputs_max = static_cast<std::uint32_t>(o.n_slots);
    p.n_threads = thread_count(o.n_threads);
    p.n_threads_batch = o.n_threads_batch > 0 ? o.n_threads_batch : p.n_threads;
    p.flash_attn_type = static_cast<llama_flash_attn_type>(o.flash_attn);
    p.type_k = *k;
    p.type_v = *v;
    p.offload_kqv = o.kv_offload;
    p.op_offload = o.op_offload;
    p.swa_full = o.swa_full;
    p.kv_unified = o.unified;
    p.no_perf = true;
    p.rope_scaling_type = static_cast<llama_rope_scaling_type>(o.rope_scaling);
    p.rope_freq_base = o.rope_freq_base;
    p.rope_freq_scale = o.rope_freq_scale;
    p.yarn_orig_ctx = o.yarn_orig_ctx;
    p.yarn_ext_factor = o.yarn_ext_factor;
    p.yarn_attn_factor = o.yarn_attn_factor;
    p.yarn_beta_slow = o.yarn_beta_slow;
    p.yarn_beta_fast = o.yarn_beta_fast;
    return p;
}

// ---- the batch
// ------------------------------------------------------------------------------------------------------

/// The arrays that a llama_batch points to, made once.
class BatchArrays {
  public:
    explicit BatchArrays(std::size_t n_max)
        : token_(n_max), pos_(n_max), n_seq_(n_max, 1), seq_(n_max), seq_ptr_(n_max), output_(n_max) {
        for (std::size_t i = 0; i < n_max; ++i) {
            seq_ptr_[i] = &seq_[i];
        }
    }
    llama_batch fill(std::span<const BatchEntry> entries) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            token_[i] = entries[i].token;
            pos_[i] = entries[i].pos;
            seq_[i] = entries[i].slot.value();
            output_[i] = entries[i].output ? 1 : 0;
        }
        return llama_batch{static_cast<std::int32_t>(entries.size()),
                           token_.data(),
                           nullptr,
                           pos_.data(),
                           n_seq_.data(),
                           seq_ptr_.data(),
                           output_.data()};
    }

  private:
    std::vector<llama_token> token_;
    std::vector<llama_pos> pos_;
    std::vector<std::int32_t> n_seq_;
    std::vector<llama_seq_id> seq_;
    std::vector<llama_seq_id*> seq_ptr_;
    std::vector<std::int8_t> output_;
};

class Llama final : public LlamaBackend {
  public:
    Llama(ModelPtr model, ContextPtr context, const LlamaOptions& o)
        : model_(std::move(model)),
          context_(std::move(context)),
          memory_(llama_get_memory(context_.get())),
          batch_(llama_n_batch(context_.get())),
          n_vocab_(static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())))),
          recurrent_(llama_model_is_recurrent(model_.get())),
          rewinds_(!recurrent_ && !llama_model_is_hybrid(model_.get())),
          n_swa_(o.swa_full ? 0 : llama_model_n_swa(model_.get())) {
        fill_caps(o);
        // In a thread of its own that ends: each thread that computes keeps a team of OpenMP threads as long
        // as it lives, and when two teams together have more threads than there are cores, libgomp stops
        // spinning at its barriers. Decoding on the engine thread would then be slower by a third, for a team
        // that never works again.
        std::thread([this] { measure_snapshots(); }).join();
    }

    [[nodiscard]] const BackendCaps& caps() const override { return caps_; }
    [[nodiscard]] const llama_model* model() const override { return model_.get(); }

    DecodeStatus decode(std::span<const BatchEntry> entries) override {
        KVALET_ASSERT(Tokens{static_cast<std::int64_t>(entries.size())} <= caps_.n_batch,
                      "libllama aborts on a batch larger than n_batch");
        const std::int32_t status = llama_decode(context_.get(), batch_.fill(entries));
        if (status == 0) {
            return DecodeStatus::ok;
        }
        return status == 1    ? DecodeStatus::no_room
               : status == -1 ? DecodeStatus::invalid_batch
                              : DecodeStatus::failed;
    }

    [[nodiscard]] std::span<const float> logits(std::size_t index) override {
        const float* row = llama_get_logits_ith(context_.get(), static_cast<std::int32_t>(index));
        KVALET_ASSERT(row != nullptr, "logits of an entry that asked for none");
        return {row, n_vocab_};
    }

    // How much of a slot's first n tokens can be kept:
    //  1. all of what is there: nothing is to be done;
    //  2. a recurrent memory cannot go back: nothing;
    //  3. a sliding window whose older cells are gone cannot go back behind them: nothing.
    Tokens truncate(SlotId slot, Tokens n) override {
        const auto last = llama_memory_seq_pos_max(memory_, slot.value());
        if (last + 1 == n.value()) {  // 1.
            return n;
        }
        const auto keep = static_cast<llama_pos>(n.value());
        const bool windowed = n_swa_ > 0 && last >= 0 &&
                              llama_memory_seq_pos_min(memory_, slot.value()) > std::max(0, keep - n_swa_);
        if (!rewinds_ || windowed || last < keep ||  // 2. 3.
            !llama_memory_seq_rm(memory_, slot.value(), keep, -1)) {
            clear(slot);
            return Tokens{0};
        }
        return n;
    }

    void clear(SlotId slot) override { llama_memory_seq_rm(memory_, slot.value(), -1, -1); }

    void share(SlotId from, SlotId to, Tokens n) override {
        KVALET_ASSERT(llama_memory_seq_pos_max(memory_, from.value()) + 1 == n.value(),
                      "a part of a sequence is shared");
        // Whole, since between the streams of a split memory nothing else can be copied.
        llama_memory_seq_cp(memory_, from.value(), to.value(), -1, -1);
    }

    [[nodiscard]] Bytes snapshot_size(SlotId slot) override {
        return Bytes{static_cast<std::int64_t>(llama_state_seq_get_size(context_.get(), slot.value()))};
    }

    bool save(SlotId slot, std::span<std::byte> into) override {
        auto* data = reinterpret_cast<std::uint8_t*>(into.data());
        return llama_state_seq_get_data(context_.get(), data, into.size(), slot.value()) == into.size();
    }

    bool load(SlotId slot, std::span<const std::byte> from) override {
        const auto* data = reinterpret_cast<const std::uint8_t*>(from.data());
        if (llama_state_seq_set_data(context_.get(), data, from.size(), slot.value()) == 0) {
            clear(slot);  // a part of a sliding-window memory can stay allocated after a failed restore
            return false;
        }
        return true;
    }

  private:
    void fill_caps(const LlamaOptions& o) {
        const llama_context* c = context_.get();
        caps_.n_slots = o.n_slots;
        caps_.unified = o.unified;
        std::int64_t n_ctx_slot = llama_n_ctx_seq(c);
        const std::int64_t n_train = llama_model_n_ctx_train(model_.get());
        n_ctx_slot = n_train > 0 ? std::min(n_ctx_slot, n_train) : n_ctx_slot;
        n_ctx_slot = o.n_ctx_slot_max > 0 ? std::min(n_ctx_slot, o.n_ctx_slot_max) : n_ctx_slot;
        caps_.n_ctx_slot = Tokens{n_ctx_slot};
        // A recurrent memory has one state for each sequence, however long: its pool is never full.
        caps_.pool = Cells{recurrent_ ? n_ctx_slot * o.n_slots : static_cast<std::int64_t>(llama_n_ctx(c))};
        caps_.n_batch = Tokens{llama_n_batch(c)};
        caps_.n_ubatch = Tokens{llama_n_ubatch(c)};
    }

    /// The size of a snapshot is a line; two points of it, and the first decode warms the model up.
    void measure_snapshots() {
        constexpr std::int64_t kMore = 8;
        const llama_vocab* vocab = llama_model_get_vocab(model_.get());
        const llama_token bos = llama_vocab_bos(vocab);
        std::vector<BatchEntry> entries;
        for (std::int32_t i = 0; i <= kMore; ++i) {
            entries.push_back(BatchEntry{std::max(0, bos), i, SlotId{0}, false});
        }
        entries.front().output = true;
        decode(std::span(entries).first(1));
        const std::int64_t one = snapshot_size(SlotId{0}).value();
        entries.front().output = false;
        entries.back().output = true;
        auto rest = std::span(entries).subspan(1);
        while (!rest.empty()) {  // --batch-size may be less than kMore
            const auto n = std::min(rest.size(), static_cast<std::size_t>(caps_.n_batch.value()));
            decode(rest.first(n));
            rest = rest.subspan(n);
        }
        const std::int64_t more = snapshot_size(SlotId{0}).value();
        llama_memory_clear(memory_, true);
        caps_.snapshot_per_token = Bytes{std::max<std::int64_t>(0, (more - one) / kMore)};
        caps_.snapshot_fixed = Bytes{one - caps_.snapshot_per_token.value()};
    }

    ModelPtr model_;
    ContextPtr context_;
    llama_memory_t memory_;
    BatchArrays batch_;
    std::size_t n_vocab_;
    bool recurrent_;
    bool rewinds_;
    std::int32_t n_swa_;
    BackendCaps caps_;
};

Status check_model(const llama_model* model, const std::string& path) {
    if (llama_model_has_encoder(model) || llama_model_is_diffusion(model)) {
        return make_error(ErrorKind::not_supported, "--model: '" + path + "' is no decoder-only text model");
    }
    return Unit{};
}

}  // namespace

Result<std::unique_ptr<LlamaBackend>> LlamaBackend::load(const LlamaOptions& options) {
    static std::once_flag once;
    {
        const std::lock_guard lock(log_sink().mutex);
        log_sink().write = options.log;
    }
    llama_log_set(on_log, nullptr);
    std::call_once(once, [&options] {
        llama_backend_init();
        llama_numa_init(static_cast<ggml_numa_strategy>(options.numa));
    });
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(options.model_path, ignored)) {
        return make_error(ErrorKind::not_found, "--model: there is no file '" + options.model_path + "'");
    }
    const auto most = static_cast<std::int32_t>(llama_max_parallel_sequences());
    if (options.n_slots > most) {
        return make_error(ErrorKind::invalid_request,
                          "--parallel: at most " + std::to_string(most) + " slots");
    }
    ModelParams mp;
    if (const Status s = fill_model_params(options, mp); !s) {
        return s.error();
    }
    ModelPtr model(llama_model_load_from_file(options.model_path.c_str(), mp.params));
    if (!model) {
        return make_error(ErrorKind::server, "--model: libllama cannot load '" + options.model_path + "'");
    }
    if (const Status s = check_model(model.get(), options.model_path); !s) {
        return s.error();
    }
    const auto cp = context_params(options);
    if (!cp) {
        return cp.error();
    }
    ContextPtr context(llama_init_from_model(model.get(), *cp));
    if (!context || llama_get_memory(context.get()) == nullptr) {
        return make_error(
            ErrorKind::server,
            "libllama cannot make a context for this model with these flags (--ctx-size, --parallel, "
            "--batch-size, --flash-attn, --cache-type-k, --cache-type-v)");
    }
    return std::unique_ptr<LlamaBackend>(
        std::make_unique<Llama>(std::move(model), std::move(context), options));
}

}  // namespace kvalet::engine
