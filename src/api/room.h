// What all routes share: the configuration, the workers, and the engine and model once they are there.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "api/config.h"
#include "api/metrics.h"
#include "api/parse_sampling.h"
#include "api/worker_pool.h"
#include "engine/engine.h"
#include "http/exchange.h"
#include "text/text_model.h"

namespace kvalet::api {

enum class Phase : std::uint8_t {
    loading,  // the server listens, the model is not there: 503
    ready,
    draining,  // what runs finishes, /health says 503
};

struct Room {
    explicit Room(ApiConfig c) : config(std::move(c)), metrics(model_name(config)), pool(config.workers) {}

    ApiConfig config;  // constant once ready
    std::atomic<Phase> phase{Phase::loading};
    MetricsText metrics;  // io thread

    // Set before `ready`, constant then.
    engine::Engine* engine = nullptr;
    const text::TextModel* model = nullptr;
    std::vector<Token> eog_tokens;
    std::int64_t created_s = 0;  // when the model was there

    WorkerPool pool;  // last: its threads end before what they use

    [[nodiscard]] ParseContext parse_context() const { return {config, *model, eog_tokens}; }
    /// Tokens that one slot can hold.
    [[nodiscard]] std::int32_t n_ctx() const {
        return static_cast<std::int32_t>(engine->snapshot()->n_ctx_slot.value());
    }
};

/// An exception out of a library (no memory, …) becomes a 500 instead of the end of the process.
template <class Work>
[[nodiscard]] auto guarded(Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::exception& e) {
        return make_error(ErrorKind::server, std::string("Internal error: ") + e.what());
    }
}

/// application/json; charset=utf-8.
[[nodiscard]] http::Reply json_reply(std::string body, int status = 200);
/// The error object with its status; Retry-After with a 429.
[[nodiscard]] http::Reply error_reply(const Error& error, const ApiConfig& config);
/// Either of the two.
[[nodiscard]] http::Reply reply_of(const Result<std::string>& body, const ApiConfig& config);

}  // namespace kvalet::api
