// /metrics: the snapshot in Prometheus' text format (llama-server-api 1.4, P6.1, P6.5).
#pragma once

#include <cstdint>
#include <string>

#include "engine/snapshot.h"

namespace kvalet::api {

/// Makes the text of a scrape. Remembers the last one: the throughput gauges cover the time since then. One
/// thread.
///
/// Histograms carry the label model_name, as vLLM's metrics do: llama-server's own test wants a TYPE line for
/// every line without braces, which `…_sum` and `…_count` cannot have.
class MetricsText {
  public:
    explicit MetricsText(std::string model_name) : model_name_(std::move(model_name)) {}

    /// Never contains NaN, also before the first request (F30).
    [[nodiscard]] std::string scrape(const engine::Snapshot& snapshot);

  private:
    std::string model_name_;
    engine::Counters last_;
};

}  // namespace kvalet::api
