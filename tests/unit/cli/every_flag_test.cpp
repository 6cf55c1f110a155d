// Every flag of the table, by every spelling, variable and config key, lands in its own field and nowhere
// else.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/flag.h"
#include "cli/spellings.h"
#include "cli/values.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

template <class T>
std::string text(const T& value) {
    std::ostringstream out;
    if constexpr (std::is_enum_v<T>) {
        out << static_cast<int>(value);
    } else {
        out << std::boolalpha << value;
    }
    return out.str();
}

std::string text(const std::vector<std::string>& values) {
    return join(values, "|");
}

struct Row {
    std::string flag;
    std::string value;  // as somebody would write it
    std::function<std::string(const ServeOptions&)> field;
    std::string expected;
};

#define FIELD(expression) [](const ServeOptions& o) { return text(expression); }

std::vector<Row> model_rows() {
    return {
        {"model", "m.gguf", FIELD(o.model.path), "m.gguf"},
        {"alias", "b, a", FIELD(o.model.aliases), "b|a"},
        {"tags", "x,y", FIELD(o.model.tags), "x|y"},
        {"load-mode", "mmap+mlock", FIELD(o.model.load_mode), text(LoadMode::mmap_mlock)},
        {"mmap", "off", FIELD(o.model.load_mode), text(LoadMode::none)},
        {"mlock", "on", FIELD(o.model.load_mode), text(LoadMode::mmap_mlock)},
        {"check-tensors", "on", FIELD(o.model.check_tensors), "true"},
        {"override-kv", "a.b=int:3",
         FIELD(o.model.override_kv.empty() ? "" : o.model.override_kv.at(0).value), "3"},
        {"warmup", "off", FIELD(o.model.warmup), "false"},
        {"gpu-layers", "all", FIELD(o.model.gpu_layers), "-2"},
        {"device", "CUDA0,CUDA1", FIELD(o.model.devices), "CUDA0|CUDA1"},
        {"split-mode", "row", FIELD(o.model.split_mode), text(SplitMode::row)},
        {"tensor-split", "3/1", FIELD(o.model.tensor_split.size()), "2"},
        {"main-gpu", "2", FIELD(o.model.main_gpu), "2"},
        {"override-tensor", "exps=CPU",
         FIELD(o.model.override_tensor.empty() ? "" : o.model.override_tensor.at(0).second), "CPU"},
        {"cpu-moe", "on", FIELD(o.model.cpu_moe), "true"},
        {"n-cpu-moe", "7", FIELD(o.model.n_cpu_moe), "7"},
        {"repack", "off", FIELD(o.model.repack), "false"},
        {"numa", "isolate", FIELD(o.model.numa), text(Numa::isolate)},
    };
}

std::vector<Row> context_rows() {
    return {
        {"ctx-size", "2048", FIELD(o.context.n_ctx), "2048"},
        {"parallel", "3", FIELD(o.context.n_slots), "3"},
        {"kv-unified", "off", FIELD(o.context.unified), "false"},
        {"kv-unified-per-slot", "512", FIELD(o.context.n_ctx_slot_max), "512"},
        {"cache-type-k", "q8_0", FIELD(o.context.cache_type_k), text(CacheType::q8_0)},
        {"cache-type-v", "bf16", FIELD(o.context.cache_type_v), text(CacheType::bf16)},
        {"kv-offload", "off", FIELD(o.context.kv_offload), "false"},
        {"op-offload", "off", FIELD(o.context.op_offload), "false"},
        {"swa-full", "on", FIELD(o.context.swa_full), "true"},
        {"flash-attn", "on", FIELD(o.context.flash_attn), text(Toggle::on)},
        {"batch-size", "1024", FIELD(o.context.n_batch), "1024"},
        {"ubatch-size", "256", FIELD(o.context.n_ubatch), "256"},
        {"threads", "3", FIELD(o.context.n_threads), "3"},
        {"threads-batch", "5", FIELD(o.context.n_threads_batch), "5"},
        {"rope-scaling", "yarn", FIELD(o.context.rope_scaling), text(RopeScaling::yarn)},
        {"rope-scale", "4", FIELD(o.context.rope_freq_scale), "0.25"},
        {"rope-freq-base", "10000", FIELD(o.context.rope_freq_base), "10000"},
        {"rope-freq-scale", "0.5", FIELD(o.context.rope_freq_scale), "0.5"},
        {"yarn-orig-ctx", "4096", FIELD(o.context.yarn_orig_ctx), "4096"},
        {"yarn-ext-factor", "0.5", FIELD(o.context.yarn_ext_factor), "0.5"},
        {"yarn-attn-factor", "0.5", FIELD(o.context.yarn_attn_factor), "0.5"},
        {"yarn-beta-slow", "0.5", FIELD(o.context.yarn_beta_slow), "0.5"},
        {"yarn-beta-fast", "0.5", FIELD(o.context.yarn_beta_fast), "0.5"},
    };
}

std::vector<Row> server_rows(const TempDir& dir) {
    return {
        {"host", "0.0.0.0, ::", FIELD(o.http.hosts), "0.0.0.0|::"},
        {"port", "9000", FIELD(o.http.port), "9000"},
        {"reuse-port", "on", FIELD(o.http.reuse_port), "true"},
        {"api-prefix", "/x/", FIELD(o.http.api_prefix), "/x"},
        {"timeout", "60", FIELD(o.http.timeout_s), "60"},
        {"threads-http", "7", FIELD(o.http.worker_threads), "7"},
        {"sse-ping-interval", "-1", FIELD(o.http.sse_ping_interval), "-1"},
        {"http-keepalive-body", "on", FIELD(o.http.keepalive_body), "true"},
        {"api-key", "k1,k2", FIELD(o.http.api_keys), "k1|k2"},
        {"api-key-file", dir.write("keys", "# ours\nk3\r\n\nk4\n"), FIELD(o.http.api_keys), "k3|k4"},
        {"cors-origins", "localhost", FIELD(o.http.cors_origins), "localhost"},
        {"cors-methods", "GET", FIELD(o.http.cors_methods), "GET"},
        {"cors-headers", "X-A", FIELD(o.http.cors_headers), "X-A"},
        {"cors-credentials", "off", FIELD(o.http.cors_credentials), "false"},
        {"metrics", "on", FIELD(o.server.metrics), "true"},
        {"slots", "off", FIELD(o.server.slots), "false"},
        {"props", "on", FIELD(o.server.props), "true"},
        {"slot-save-path", dir.path(), FIELD(o.server.slot_save_path), dir.path() + "/"},
        {"slot-prompt-similarity", "0.5", FIELD(o.server.slot_prompt_similarity), "0.5"},
        {"cont-batching", "on", FIELD(o.is_given("cont-batching")), "true"},
        {"cache-prompt", "off", FIELD(o.server.cache_prompt), "false"},
        {"cache-ram", "16", FIELD(o.server.cache_ram_bytes), "16777216"},
        {"cache-idle-slots", "off", FIELD(o.server.cache_idle_slots), "false"},
        {"chat-template", "chatml", FIELD(o.server.chat_template), "chatml"},
        {"chat-template-file", dir.write("t.jinja", "{{ x }}"), FIELD(o.server.chat_template), "{{ x }}"},
        {"jinja", "off", FIELD(o.server.jinja), "false"},
        {"prefill-assistant", "off", FIELD(o.server.prefill_assistant), "false"},
        {"max-body-mib", "8", FIELD(o.http.max_body_mib), "8"},
        {"max-header-kib", "32", FIELD(o.http.max_header_kib), "32"},
        {"header-timeout", "5", FIELD(o.http.header_timeout_s), "5"},
        {"body-timeout", "6", FIELD(o.http.body_timeout_s), "6"},
        {"idle-timeout", "7", FIELD(o.http.idle_timeout_s), "7"},
        {"slow-client-timeout", "8", FIELD(o.http.slow_client_timeout_s), "8"},
        {"max-connections", "10", FIELD(o.http.max_connections), "10"},
        {"queue-max", "5", FIELD(o.preempt.queue_max), "5"},
    };
}

std::vector<Row> preempt_rows() {
    return {
        {"preempt", "off", FIELD(o.preempt.policy.preempt), "false"},
        {"preempt-preset", "swap", FIELD(o.preempt.preset), "swap"},
        {"preempt-ram", "16", FIELD(o.preempt.policy.budget_bytes), "16777216"},
        {"preempt-trigger", "watermark", FIELD(o.preempt.policy.trigger), text(sched::Trigger::watermark)},
        {"preempt-high", "90", FIELD(o.preempt.policy.high_pct), "90"},
        {"preempt-low", "70", FIELD(o.preempt.policy.low_pct), "70"},
        {"preempt-victim", "newest", FIELD(o.preempt.policy.victim), text(sched::VictimOrder::newest)},
        {"preempt-resume", "priority", FIELD(o.preempt.policy.resume), text(sched::ResumeOrder::priority)},
        {"preempt-min-run", "8", FIELD(o.preempt.policy.min_run.value()), "8"},
        {"prefill-chunk", "128", FIELD(o.preempt.policy.prefill_chunk.value()), "128"},
        {"park-ttl", "5", FIELD(o.preempt.park_ttl_s), "5"},
        {"priority-max", "9", FIELD(o.preempt.priority_max), "9"},
        {"sse-notices", "data", FIELD(o.preempt.sse_notices), text(api::SseNotices::data)},
    };
}

std::vector<Row> sampling_rows(const TempDir& dir) {
    return {
        {"predict", "32", FIELD(o.text.stop.n_predict), "32"},
        {"keep", "4", FIELD(o.server.n_keep), "4"},
        {"reverse-prompt", "END", FIELD(o.text.stop.stop), "END"},
        {"ignore-eos", "on", FIELD(o.text.sampling.ignore_eos), "true"},
        {"special", "on", FIELD(o.server.special), "true"},
        {"escape", "off", FIELD(o.escape), "false"},
        {"samplers", "top-k;temp", FIELD(o.text.sampling.samplers), "top_k|temperature"},
        {"sampler-seq", "kt", FIELD(o.text.sampling.samplers), "top_k|temperature"},
        {"seed", "42", FIELD(o.text.sampling.seed), "42"},
        {"temp", "0.25", FIELD(o.text.sampling.temperature), "0.25"},
        {"top-k", "5", FIELD(o.text.sampling.top_k), "5"},
        {"top-p", "0.5", FIELD(o.text.sampling.top_p), "0.5"},
        {"min-p", "0.5", FIELD(o.text.sampling.min_p), "0.5"},
        {"top-nsigma", "2", FIELD(o.text.sampling.top_n_sigma), "2"},
        {"typical", "0.5", FIELD(o.text.sampling.typical_p), "0.5"},
        {"xtc-probability", "0.5", FIELD(o.text.sampling.xtc_probability), "0.5"},
        {"xtc-threshold", "0.25", FIELD(o.text.sampling.xtc_threshold), "0.25"},
        {"dynatemp-range", "0.5", FIELD(o.text.sampling.dynatemp_range), "0.5"},
        {"dynatemp-exp", "2", FIELD(o.text.sampling.dynatemp_exponent), "2"},
        {"repeat-last-n", "8", FIELD(o.text.sampling.repeat_last_n), "8"},
        {"repeat-penalty", "1.5", FIELD(o.text.sampling.repeat_penalty), "1.5"},
        {"presence-penalty", "0.5", FIELD(o.text.sampling.presence_penalty), "0.5"},
        {"frequency-penalty", "0.5", FIELD(o.text.sampling.frequency_penalty), "0.5"},
        {"dry-multiplier", "0.5", FIELD(o.text.sampling.dry_multiplier), "0.5"},
        {"dry-base", "2", FIELD(o.text.sampling.dry_base), "2"},
        {"dry-allowed-length", "3", FIELD(o.text.sampling.dry_allowed_length), "3"},
        {"dry-penalty-last-n", "8", FIELD(o.text.sampling.dry_penalty_last_n), "8"},
        {"dry-sequence-breaker", "--", FIELD(o.text.sampling.dry_sequence_breakers), "--"},
        {"logit-bias", "15-1.5",
         FIELD(o.text.sampling.logit_bias.empty() ? 0.0F : o.text.sampling.logit_bias.at(0).bias), "-1.5"},
        {"mirostat", "2", FIELD(o.text.sampling.mirostat), "2"},
        {"mirostat-lr", "0.5", FIELD(o.text.sampling.mirostat_eta), "0.5"},
        {"mirostat-ent", "4", FIELD(o.text.sampling.mirostat_tau), "4"},
        {"adaptive-target", "0.5", FIELD(o.text.sampling.adaptive_target), "0.5"},
        {"adaptive-decay", "0.5", FIELD(o.text.sampling.adaptive_decay), "0.5"},
        {"grammar", "root ::= [a-z]", FIELD(o.text.sampling.grammar), "root ::= [a-z]"},
        {"grammar-file", dir.write("g.gbnf", "root ::= \"x\"\n"), FIELD(o.text.sampling.grammar),
         "root ::= \"x\"\n"},
    };
}

std::vector<Row> log_rows() {
    return {
        {"verbosity", "1", FIELD(o.log.verbosity), "1"},
        {"verbose", "on", FIELD(o.log.verbose), "true"},
        {"log-file", "k.log", FIELD(o.log.file), "k.log"},
        {"log-jsonl", "on", FIELD(o.log.jsonl), "true"},
        {"log-colors", "on", FIELD(o.log.colors), text(Toggle::on)},
        {"log-prefix", "off", FIELD(o.log.prefix), "false"},
        {"log-timestamps", "off", FIELD(o.log.timestamps), "false"},
        {"log-disable", "on", FIELD(o.log.disabled), "true"},
    };
}

class EveryFlag : public ::testing::Test {
  protected:
    EveryFlag() {
        for (const std::vector<Row>& part : {model_rows(), context_rows(), server_rows(dir_), preempt_rows(),
                                             sampling_rows(dir_), log_rows()}) {
            rows_.insert(rows_.end(), part.begin(), part.end());
        }
    }

    static const Flag& flag_of(const Row& row) {
        const auto found = std::find_if(all_flags().begin(), all_flags().end(),
                                        [&row](const Flag& flag) { return flag.name == row.flag; });
        EXPECT_NE(found, all_flags().end()) << row.flag;
        return *found;
    }

    static void expect(const Row& row, const Result<Parsed>& parsed, const std::string& how) {
        ASSERT_TRUE(parsed.ok()) << how << ": " << parsed.error().message;
        EXPECT_EQ(row.field(parsed->options), row.expected) << how;
        EXPECT_TRUE(parsed->options.is_given(row.flag)) << how;
    }

    TempDir dir_;
    std::vector<Row> rows_;
};

TEST_F(EveryFlag, HasARowHere) {
    for (const Flag& flag : all_flags()) {
        if (flag.name == "help" || flag.name == "version") continue;
        EXPECT_EQ(
            std::count_if(rows_.begin(), rows_.end(), [&flag](const Row& r) { return r.flag == flag.name; }),
            1)
            << flag.name;
    }
}

TEST_F(EveryFlag, ExpectationsDifferFromTheDefaults) {
    const Result<Parsed> defaults = parse({});
    ASSERT_TRUE(defaults.ok());
    for (const Row& row : rows_) EXPECT_NE(row.field(defaults->options), row.expected) << row.flag;
}

TEST_F(EveryFlag, BySpelling) {
    for (const Row& row : rows_) {
        const Flag& flag = flag_of(row);
        std::vector<std::string> spellings = flag.others;
        spellings.push_back("--" + flag.name);
        std::string underscored = flag.name;
        std::replace(underscored.begin(), underscored.end(), '-', '_');
        spellings.push_back("--" + underscored);
        for (const std::string& spelling : spellings) {
            expect(row, parse({spelling + "=" + row.value}), spelling + "=");
            if (!flag.is_switch()) {
                expect(row, parse({spelling, row.value}), spelling);
            } else if (row.value == "on") {
                expect(row, parse({spelling}), spelling);
            }
        }
    }
}

TEST_F(EveryFlag, ByNegativeSpelling) {
    std::size_t n_seen = 0;
    for (const Row& row : rows_) {
        if (row.value != "off") continue;
        for (const std::string& negative : flag_of(row).negative) {
            expect(row, parse({negative}), negative);
            expect(row, parse({negative + "=true"}), negative + "=true");
            ++n_seen;
        }
    }
    EXPECT_GE(n_seen, 15U);
}

TEST_F(EveryFlag, ByVariable) {
    for (const Row& row : rows_) {
        const Flag& flag = flag_of(row);
        if (flag.variable.empty()) continue;
        expect(row, parse({}, {{flag.variable, row.value}}), flag.variable);
        if (row.value == "off" && !flag.negative.empty()) {
            const std::string negative = negative_variable(flag.variable);
            expect(row, parse({}, {{negative, "1"}}), negative);
        }
    }
}

TEST_F(EveryFlag, ByConfigFile) {
    for (const Row& row : rows_) {
        if (row.value.find_first_of(";#\n") != std::string::npos) continue;  // comments there
        const Flag& flag = flag_of(row);
        std::vector<std::string> keys = {flag.name};
        if (!flag.variable.empty()) keys.push_back(flag.variable);
        for (const std::string& key : keys) {
            const std::string file = dir_.write("config.ini", key + " = " + row.value + "\n");
            expect(row, parse({}, {}, {file}), key);
        }
    }
}

}  // namespace
}  // namespace kvalet::cli
