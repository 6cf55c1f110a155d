// The text of /metrics.
#include "api/metrics.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

namespace kvalet::api {
namespace {

struct Scrape {
    std::map<std::string, std::string> types;
    std::map<std::string, std::string> values;  // by name with labels
    std::set<std::string> help;
};

Scrape parse(const std::string& text) {
    Scrape out;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string hash, kind, name;
        if (line.rfind("# ", 0) == 0) {
            words >> hash >> kind >> name;
            std::string rest;
            std::getline(words, rest);
            if (kind == "TYPE") {
                EXPECT_TRUE(out.types.emplace(name, rest.substr(1)).second) << name << " has two TYPE lines";
            } else {
                out.help.insert(name + ":" + rest);
            }
        } else {
            const std::size_t space = line.rfind(' ');
            EXPECT_TRUE(out.values.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
        }
    }
    return out;
}

engine::Snapshot busy() {
    engine::Snapshot s;
    s.pool = Cells{1000};
    s.used = Cells{250};
    s.used_idle = Cells{50};
    s.parked_bytes = Bytes{4096};
    s.parked_bytes_max = Bytes{8192};
    s.cache_ram_bytes = Bytes{16384};
    s.counters.n_cache_saved_total = 5;
    s.counters.n_cache_loaded_total = 4;
    s.n_processing = 2;
    s.n_preempted = 1;
    s.n_deferred = 3;
    s.counters.prompt_tokens_total = 12345678;
    s.counters.prompt_seconds_total = 2.5;
    s.counters.tokens_predicted_total = 100;
    s.counters.tokens_predicted_seconds_total = 4.0;
    s.counters.n_decode_total = 10;
    s.counters.n_busy_slots_total = 25;
    s.counters.n_preempt_total = 3;
    s.counters.n_park_by_reason = {1, 0, 2, 0, 0};
    s.histograms.parked_seconds.bounds = {0.01, 0.1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    s.histograms.parked_seconds.counts = {1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4};
    s.histograms.parked_seconds.sum = 50.5;
    s.histograms.parked_seconds.n = 7;
    return s;
}

TEST(Metrics, EveryLineHasAType) {
    for (const engine::Snapshot& snapshot : {engine::Snapshot{}, busy()}) {
        MetricsText metrics("alpha");
        const std::string text = metrics.scrape(snapshot);
        EXPECT_EQ(text.find("nan"), std::string::npos);
        EXPECT_EQ(text.find("Nan"), std::string::npos);
        const Scrape scrape = parse(text);
        for (const auto& [name, value] : scrape.values) {
            if (name.find('{') == std::string::npos) {
                EXPECT_TRUE(scrape.types.contains(name)) << name;
                EXPECT_EQ(name.find("llamacpp:"), 0U);
            }
        }
    }
}

TEST(Metrics, Values) {
    MetricsText metrics("alpha");
    const Scrape s = parse(metrics.scrape(busy()));
    const std::map<std::string, std::string> want = {
        {"llamacpp:prompt_tokens_total", "12345678"},
        {"llamacpp:prompt_seconds_total", "2.5"},
        {"llamacpp:tokens_predicted_seconds_total", "4"},
        {"llamacpp:predicted_tokens_seconds", "25"},
        {"llamacpp:n_busy_slots_per_decode", "2.5"},
        {"llamacpp:requests_processing", "2"},
        {"llamacpp:requests_deferred", "3"},
        {"llamacpp:requests_preempted", "1"},
        {"llamacpp:preempt_ram_bytes", "4096"},
        {"llamacpp:preempt_ram_bytes_max", "8192"},
        {"llamacpp:cache_ram_bytes", "16384"},
        {"llamacpp:n_cache_saved_total", "5"},
        {"llamacpp:n_cache_loaded_total", "4"},
        {"llamacpp:kv_cache_usage_ratio", "0.25"},
        {"llamacpp:kv_cache_tokens", "250"},
        {"llamacpp:spec_decode_num_drafts_total", "0"},
        {"llamacpp:n_preempt_by_reason_total{reason=\"kv_full\"}", "1"},
        {"llamacpp:n_preempt_by_reason_total{reason=\"watermark\"}", "0"},
        {"llamacpp:n_preempt_by_reason_total{reason=\"priority\"}", "2"},
        {"llamacpp:n_preempt_by_reason_total{reason=\"explicit\"}", "0"},
        {"llamacpp:n_preempt_by_reason_total{reason=\"forced\"}", "0"},
        {"llamacpp:preempt_parked_seconds_bucket{model_name=\"alpha\",le=\"0.01\"}", "1"},
        {"llamacpp:preempt_parked_seconds_bucket{model_name=\"alpha\",le=\"1\"}", "3"},
        {"llamacpp:preempt_parked_seconds_bucket{model_name=\"alpha\",le=\"10\"}", "3"},
        {"llamacpp:preempt_parked_seconds_bucket{model_name=\"alpha\",le=\"+Inf\"}", "7"},
        {"llamacpp:preempt_parked_seconds_sum{model_name=\"alpha\"}", "50.5"},
        {"llamacpp:preempt_parked_seconds_count{model_name=\"alpha\"}", "7"},
        {"vllm:num_requests_running{model_name=\"alpha\"}", "2"},
        {"vllm:num_requests_waiting{model_name=\"alpha\"}", "4"},
        {"vllm:kv_cache_usage_perc{model_name=\"alpha\"}", "0.2"},
        {"vllm:gpu_cache_usage_perc{model_name=\"alpha\"}", "0.2"},
        {"vllm:num_preemptions_total{model_name=\"alpha\"}", "3"},
    };
    for (const auto& [name, value] : want) {
        const auto found = s.values.find(name);
        ASSERT_NE(found, s.values.end()) << name;
        EXPECT_EQ(found->second, value) << name;
    }
    EXPECT_EQ(s.types.at("llamacpp:prompt_tokens_total"), "counter");
    EXPECT_EQ(s.types.at("llamacpp:n_tokens_max"), "counter");
    EXPECT_EQ(s.types.at("llamacpp:requests_processing"), "gauge");
    EXPECT_EQ(s.types.at("llamacpp:preempt_restore_seconds"), "histogram");
    EXPECT_TRUE(s.help.contains("llamacpp:requests_processing: Number of requests processing"));
    EXPECT_TRUE(s.help.contains(
        "llamacpp:prompt_tokens_total: Number of prompt tokens processed, excluding cached tokens"));
}

TEST(Metrics, ThroughputCoversTheTimeSinceTheLastScrape) {
    MetricsText metrics("alpha");
    engine::Snapshot snapshot = busy();
    (void)metrics.scrape(snapshot);
    EXPECT_EQ(parse(metrics.scrape(snapshot)).values["llamacpp:predicted_tokens_seconds"], "0");
    snapshot.counters.tokens_predicted_total += 30;
    snapshot.counters.tokens_predicted_seconds_total += 2;
    const Scrape second = parse(metrics.scrape(snapshot));
    EXPECT_EQ(second.values.at("llamacpp:predicted_tokens_seconds"), "15");
    EXPECT_EQ(second.values.at("llamacpp:tokens_predicted_total"), "130");
}

}  // namespace
}  // namespace kvalet::api
