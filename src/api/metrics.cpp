#include "api/metrics.h"

#include <cmath>
#include <limits>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <vector>

namespace kvalet::api {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double finite(double value) {
    return std::isfinite(value) ? value : 0.0;
}

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0.0;
}

class Families {
  public:
    explicit Families(const std::string& model_name) : model_label_{{"model_name", model_name}} {}

    template <class T>
    void counter(const char* name, const char* help, T value) {
        add(name, help, MetricType::Counter).metric.push_back(counter_metric(static_cast<double>(value), {}));
    }
    template <class T>
    void gauge(const char* name, const char* help, T value) {
        add(name, help, MetricType::Gauge).metric.push_back(gauge_metric(static_cast<double>(value), {}));
    }
    /// vLLM's metrics carry the model's name.
    template <class T>
    void model_counter(const char* name, const char* help, T value) {
        add(name, help, MetricType::Counter)
            .metric.push_back(counter_metric(static_cast<double>(value), model_label_));
    }
    template <class T>
    void model_gauge(const char* name, const char* help, T value) {
        add(name, help, MetricType::Gauge)
            .metric.push_back(gauge_metric(static_cast<double>(value), model_label_));
    }

    void park_reasons(const engine::Counters& counters) {
        MetricFamily& family = add("llamacpp:n_preempt_by_reason_total",
                                   "Number of times a sequence was parked, by reason", MetricType::Counter);
        for (std::size_t i = 0; i < sched::kParkReasons; ++i) {
            const auto reason = static_cast<sched::ParkReason>(i);
            family.metric.push_back(counter_metric(static_cast<double>(counters.n_park_by_reason[i]),
                                                   {{"reason", std::string(sched::name_of(reason))}}));
        }
    }

    void histogram(const char* name, const char* help, const engine::Histogram& from) {
        ClientMetric metric;
        metric.label = model_label_;
        metric.histogram.sample_count = from.n;
        metric.histogram.sample_sum = finite(from.sum);
        std::uint64_t cumulative = 0;
        for (std::size_t i = 0; i < engine::Histogram::kBuckets; ++i) {
            cumulative += from.counts[i];
            if (i > 0 && from.bounds[i] <= from.bounds[i - 1]) {
                continue;  // bounds that were not set: two buckets of one bound would not be parsed
            }
            metric.histogram.bucket.push_back({cumulative, from.bounds[i]});
        }
        metric.histogram.bucket.push_back({from.n, std::numeric_limits<double>::infinity()});
        add(name, help, MetricType::Histogram).metric.push_back(std::move(metric));
    }

    [[nodiscard]] std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

  private:
    using Labels = std::vector<ClientMetric::Label>;

    static ClientMetric counter_metric(double value, Labels labels) {
        ClientMetric metric;
        metric.label = std::move(labels);
        metric.counter.value = finite(value);
        return metric;
    }
    static ClientMetric gauge_metric(double value, Labels labels) {
        ClientMetric metric;
        metric.label = std::move(labels);
        metric.gauge.value = finite(value);
        return metric;
    }
    MetricFamily& add(const char* name, const char* help, MetricType type) {
        families_.push_back(MetricFamily{name, help, type, {}});
        return families_.back();
    }

    Labels model_label_;
    std::vector<MetricFamily> families_;
};

/// Names and help texts of llama-server.
void add_llama_server(Families& out, const engine::Snapshot& snapshot, const engine::Counters& last) {
    const engine::Counters& c = snapshot.counters;
    out.counter("llamacpp:prompt_tokens_total", "Number of prompt tokens processed, excluding cached tokens",
                c.prompt_tokens_total);
    out.counter("llamacpp:prompt_tokens_cached_total", "Number of prompt tokens reused from the cache",
                c.prompt_tokens_cached_total);
    out.counter("llamacpp:prompt_seconds_total", "Total time spent processing prompts",
                c.prompt_seconds_total);
    out.counter("llamacpp:tokens_predicted_total", "Number of generation tokens processed",
                c.tokens_predicted_total);
    out.counter("llamacpp:tokens_predicted_seconds_total", "Total time spent generating tokens",
                c.tokens_predicted_seconds_total);
    out.counter(
        "llamacpp:n_decode_total",
        "Total number of llama_decode() calls, excluding speculative decoding and multimodal decoding",
        c.n_decode_total);
    out.counter("llamacpp:n_tokens_max", "Largest observed sequence length (prompt + generation)",
                c.n_tokens_max);
    out.counter("llamacpp:spec_decode_num_draft_tokens_total", "Speculative: Total draft tokens generated",
                0);
    out.counter("llamacpp:spec_decode_num_accepted_tokens_total",
                "Speculative: Total draft tokens accepted by the target model", 0);
    out.counter("llamacpp:spec_decode_num_drafts_total",
                "Speculative: Total speculative decoding verification steps", 0);
    const auto since = [](auto now, auto before) {
        return static_cast<double>(now) - static_cast<double>(before);
    };
    out.gauge("llamacpp:prompt_tokens_seconds", "Average prompt throughput in tokens/s",
              ratio(since(c.prompt_tokens_total, last.prompt_tokens_total),
                    since(c.prompt_seconds_total, last.prompt_seconds_total)));
    out.gauge("llamacpp:predicted_tokens_seconds", "Average generation throughput in tokens/s",
              ratio(since(c.tokens_predicted_total, last.tokens_predicted_total),
                    since(c.tokens_predicted_seconds_total, last.tokens_predicted_seconds_total)));
    out.gauge("llamacpp:requests_processing", "Number of requests processing", snapshot.n_processing);
    out.gauge("llamacpp:requests_deferred", "Number of requests deferred", snapshot.n_deferred);
    out.gauge("llamacpp:n_busy_slots_per_decode", "Average number of busy slots per llama_decode() call",
              ratio(static_cast<double>(c.n_busy_slots_total), static_cast<double>(c.n_decode_total)));
}

/// P6.1.
void add_preemption(Families& out, const engine::Snapshot& snapshot) {
    const engine::Counters& c = snapshot.counters;
    out.counter("llamacpp:n_preempt_total", "Number of times a sequence was parked", c.n_preempt_total);
    out.counter("llamacpp:n_resume_total", "Number of times a parked sequence came back", c.n_resume_total);
    out.counter("llamacpp:n_preempt_swap_total",
                "Number of parks that kept the sequence's bytes in host memory", c.n_preempt_swap_total);
    out.counter("llamacpp:n_preempt_recompute_total", "Number of parks that dropped the sequence's cells",
                c.n_preempt_recompute_total);
    out.counter("llamacpp:n_recompute_tokens_total", "Number of tokens replayed after such parks",
                c.n_recompute_tokens_total);
    out.counter("llamacpp:n_kv_full_total",
                "Number of decodes that found no room although the ledger had some", c.n_kv_full_total);
    out.counter("llamacpp:n_restore_failed_total", "Number of restores that failed and became a replay",
                c.n_restore_failed_total);
    out.park_reasons(c);
    out.gauge("llamacpp:requests_preempted", "Number of requests parked", snapshot.n_preempted);
    out.gauge("llamacpp:preempt_ram_bytes", "Host memory held by parked sequences",
              snapshot.parked_bytes.value());
    out.gauge("llamacpp:preempt_ram_bytes_max", "Most host memory held by parked sequences so far",
              snapshot.parked_bytes_max.value());
    out.gauge("llamacpp:cache_ram_bytes", "Host memory held by prompt caches of idle slots",
              snapshot.cache_ram_bytes.value());
    out.counter("llamacpp:n_cache_saved_total", "Number of prompt caches put aside into host memory",
                c.n_cache_saved_total);
    out.counter("llamacpp:n_cache_loaded_total", "Number of prompt caches brought back from there",
                c.n_cache_loaded_total);
    out.gauge("llamacpp:kv_cache_usage_ratio", "Share of the KV cells in use, 0 to 1",
              ratio(static_cast<double>(snapshot.used.value()), static_cast<double>(snapshot.pool.value())));
    out.gauge("llamacpp:kv_cache_tokens", "Number of KV cells in use", snapshot.used.value());
    const engine::Histograms& h = snapshot.histograms;
    out.histogram("llamacpp:preempt_parked_seconds", "Time that a sequence stayed parked", h.parked_seconds);
    out.histogram("llamacpp:preempt_park_seconds", "Time that it took to park a sequence", h.park_seconds);
    out.histogram("llamacpp:preempt_restore_seconds", "Time that it took to restore a sequence",
                  h.restore_seconds);
    out.histogram("llamacpp:preempt_parks_per_request", "Number of parks of a request, counted at its end",
                  h.parks_per_request);
}

/// P6.5: for balancers that know vLLM's names. Parked requests show as waiting.
void add_vllm(Families& out, const engine::Snapshot& snapshot) {
    const engine::Counters& c = snapshot.counters;
    const double usage = ratio(static_cast<double>((snapshot.used - snapshot.used_idle).value()),
                               static_cast<double>(snapshot.pool.value()));
    out.model_gauge("vllm:num_requests_running", "Number of requests resident in the KV pool",
                    snapshot.n_processing);
    out.model_gauge("vllm:num_requests_waiting", "Number of requests waiting for a slot or parked",
                    snapshot.n_deferred + snapshot.n_preempted);
    out.model_gauge("vllm:kv_cache_usage_perc", "KV cache usage, 1 means 100 percent", usage);
    out.model_gauge("vllm:gpu_cache_usage_perc", "KV cache usage, 1 means 100 percent (older name)", usage);
    out.model_counter("vllm:num_preemptions_total", "Number of times a sequence was parked",
                      c.n_preempt_total);
    out.model_counter("vllm:prompt_tokens_total", "Number of prompt tokens, cached ones included",
                      c.prompt_tokens_total + c.prompt_tokens_cached_total);
    out.model_counter("vllm:generation_tokens_total", "Number of tokens generated", c.tokens_predicted_total);
    out.model_counter("vllm:request_success_total", "Number of requests that finished", c.n_finished_total);
}

}  // namespace

std::string MetricsText::scrape(const engine::Snapshot& snapshot) {
    Families families(model_name_);
    add_llama_server(families, snapshot, last_);
    add_preemption(families, snapshot);
    add_vllm(families, snapshot);
    last_ = snapshot.counters;
    return families.text();
}

}  // namespace kvalet::api
