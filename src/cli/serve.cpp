#include "cli/serve.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "api/routes.h"
#include "cli/logging.h"
#include "cli/model_defaults.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "core/assert.h"
#include "core/clock.h"

namespace kvalet::cli {

namespace {

/// How long the error events of a forced end may take to leave.
constexpr std::chrono::seconds kGoodbye{2};
/// How often the end looks whether all replies have left: the http room has a count, no event.
constexpr std::chrono::milliseconds kLook{5};
/// Open files to ask for, when the hard limit allows: one for each connection and some more.
constexpr rlim_t kOpenFiles = 65536;

void raise_open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kOpenFiles) return;
    limit.rlim_cur = std::min(kOpenFiles, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);  // when it fails the http room keeps to what there is
}

/// One life of a server: everything in the order in which it is made, and ends in the opposite one.
class Serving {
  public:
    /// `signals` is there before any thread.
    Serving(const ServeOptions& options, Signals& signals)
        : options_(options), signals_(signals), routes_(api_config_of(options)) {}

    int run(const Loader& loader) {
        if (const Status done = listen(); !done) return failed(done.error());
        signals_.start([this](int count) { on_signal(count); });
        const auto begin = std::chrono::steady_clock::now();
        Result<Loaded> loaded = loader.load(options_);
        if (!loaded) return failed(loaded.error());
        loaded_ = *std::move(loaded);
        open(std::chrono::steady_clock::now() - begin);
        engine_thread_.join();
        return end();
    }

  private:
    Status listen() {
        http::Router router;
        routes_.install(router);
        http::ServerConfig config = http_config_of(options_);
        config.decorate = routes_.decorator();
        config.format_error = routes_.error_formatter();
        config.log = [](const std::string& line) { spdlog::warn("http: {}", one_line(line)); };
        Result<std::unique_ptr<http::Server>> server =
            http::Server::listen(std::move(config), std::move(router));
        if (!server) return server.error();
        http_ = *std::move(server);
        http_->run_in_thread();
        spdlog::info("loading the model; listening on {}", http_->addresses());
        return Unit{};
    }

    /// The model is there: makes the engine, lets requests in.
    void open(std::chrono::steady_clock::duration took) {
        const std::lock_guard lock(mutex_);
        engine_ = std::make_unique<engine::Engine>(engine_config_of(options_), *loaded_.backend, clock_,
                                                   &observer_);
        const text::ModelInfo& model = loaded_.text->info();
        routes_.attach(*engine_, *loaded_.text, with_model_defaults(options_, model.sampling));
        engine_thread_ = std::thread([this] { run_engine(); });
        describe(std::chrono::duration<double>(took).count());
        if (!model.chat_template_warning.empty()) spdlog::warn("{}", one_line(model.chat_template_warning));
        spdlog::info("server is listening on {}", http_->addresses());
    }

    void describe(double load_s) const {
        const engine::BackendCaps& caps = loaded_.backend->caps();
        const bool parks = options_.preempt.policy.preempt && caps.unified && caps.n_slots > 1;
        spdlog::info("model loaded in {:.1f} s: {} slots of {} cells, {} pool of {} cells, parking {}",
                     load_s, caps.n_slots, caps.n_ctx_slot.value(), caps.unified ? "one" : "a split",
                     caps.pool.value(), parks ? "on (" + options_.preempt.preset + ")" : "off");
    }

    void run_engine() {
        try {
            engine_->run();
        } catch (const std::exception& e) {
            // Without its engine the server could only let everybody wait.
            assertion_failed("engine->run()", __FILE__, __LINE__, e.what());
        }
    }

    /// Signal thread.
    void on_signal(int count) {
        const std::lock_guard lock(mutex_);
        if (!engine_) {
            spdlog::info("told to end while the model is being loaded: ending now");
            http_->stop();
            Logging::stop();
            std::_Exit(kExitOk);  // the loader cannot be interrupted
        }
        if (count == 1) {
            spdlog::info("told to end: draining; a second signal ends all requests");
            routes_.set_draining();
            engine_->drain();
        } else if (!forced_.exchange(true)) {
            spdlog::warn("told to end again: ending now");
            engine_->stop();
            left_.notify_all();
        }
    }

    /// The engine has ended its requests: lets the replies leave, then closes.
    int end() {
        http_->stop_accepting();
        wait_for_replies();
        http_->stop();
        signals_.stop();
        routes_.stop();
        spdlog::info("ended");
        return forced_ ? kExitFailed : kExitOk;
    }

    void wait_for_replies() {
        using Clock = std::chrono::steady_clock;
        const Clock::time_point begin = Clock::now();
        std::unique_lock lock(mutex_);
        while (http_->open_exchanges() > 0) {
            const auto limit = forced_ ? kGoodbye : std::chrono::seconds(options_.http.timeout_s);
            if (Clock::now() - begin > limit) return;
            left_.wait_for(lock, kLook);
        }
    }

    int failed(const Error& error) {
        signals_.stop();
        if (http_) http_->stop();
        routes_.stop();
        Logging::stop();  // what it has to say comes first
        complain(error.message);
        return kExitFailed;
    }

    const ServeOptions& options_;
    Signals& signals_;
    SteadyClock clock_;
    LogObserver observer_;
    std::mutex mutex_;  // guards engine_ until it is there
    std::condition_variable left_;
    std::atomic<bool> forced_{false};
    Loaded loaded_;
    std::unique_ptr<engine::Engine> engine_;
    api::Routes routes_;
    std::unique_ptr<http::Server> http_;
    std::thread engine_thread_;
};

}  // namespace

int run_server(const ServeOptions& options, const Loader& loader) {
    Signals signals;
    raise_open_files();
    if (options.model.path.empty()) {
        complain("--model (-m) is missing: the path of a GGUF file; --help lists all flags");
        return kExitFailed;
    }
    for (const Status& done :
         {loader.check ? loader.check(options) : Status(Unit{}), Logging::start(options.log)}) {
        if (done) continue;
        complain(done.error().message);
        return kExitFailed;
    }
    int code = kExitFailed;
    {
        Serving serving(options, signals);
        code = serving.run(loader);
    }
    Logging::stop();
    return code;
}

engine::EngineConfig engine_config_of(const ServeOptions& options) {
    engine::EngineConfig config;
    config.n_slots = options.context.n_slots;
    config.unified = options.context.unified;
    config.cache_prompt = options.server.cache_prompt;
    config.cache_ram_bytes = options.server.cache_ram_bytes;
    config.cache_idle_slots = options.server.cache_idle_slots;
    config.queue_max = options.preempt.queue_max;
    config.slot_prompt_similarity = options.server.slot_prompt_similarity;
    config.preempt_every = options.preempt.preempt_every;
    config.park_ttl_s = options.preempt.park_ttl_s;
    config.slot_ctx_max = options.context.n_ctx_slot_max;
    config.policy = options.preempt.policy;
    return config;
}

http::ServerConfig http_config_of(const ServeOptions& options) {
    const HttpOptions& from = options.http;
    http::ServerConfig config;
    config.host.clear();
    for (const std::string& host : from.hosts) {
        if (!config.host.empty()) config.host += ',';
        config.host += host;
    }
    config.port = from.port;
    config.reuse_port = from.reuse_port;
    config.max_header_bytes = static_cast<std::size_t>(from.max_header_kib) << 10U;
    config.max_body_bytes = static_cast<std::size_t>(from.max_body_mib) << 20U;
    config.max_total_body_bytes = std::max(config.max_total_body_bytes, config.max_body_bytes);
    config.max_connections = static_cast<std::size_t>(from.max_connections);
    config.header_timeout = std::chrono::seconds(from.header_timeout_s);
    config.body_timeout = std::chrono::seconds(from.body_timeout_s);
    config.keep_alive_timeout = std::chrono::seconds(from.idle_timeout_s);
    config.write_timeout = std::chrono::seconds(from.timeout_s);
    config.slow_client_timeout = std::chrono::seconds(from.slow_client_timeout_s);
    return config;
}

api::ApiConfig api_config_of(const ServeOptions& options) {
    using namespace std::chrono;
    api::ApiConfig config;
    config.aliases = options.model.aliases;
    config.tags = options.model.tags;
    config.model_path = options.model.path;
    config.build_info = build_info();
    config.api_prefix = options.http.api_prefix;
    config.api_keys = options.http.api_keys;
    config.cors = {options.http.cors_origins, options.http.cors_methods, options.http.cors_headers,
                   options.http.cors_credentials};
    config.endpoint_slots = options.server.slots;
    config.endpoint_props = options.server.props;
    config.endpoint_metrics = options.server.metrics;
    config.ui = false;  // there is no page yet
    config.prefill_assistant = options.server.prefill_assistant;
    config.verbose = options.log.verbose;
    config.slot_save_path = options.server.slot_save_path;
    config.defaults = options.text;
    config.cache_prompt = options.server.cache_prompt;
    config.n_keep = options.server.n_keep;
    config.sse_ping_interval_s = options.http.sse_ping_interval;
    config.sse_notices = options.preempt.sse_notices;
    config.http_keepalive_body = options.http.keepalive_body;
    config.n_slots = options.context.n_slots;
    config.priority_max = options.preempt.priority_max;
    config.workers = options.http.worker_threads;
    config.start_time_us = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    if (const char* marker = std::getenv("LLAMA_MEDIA_MARKER"); marker != nullptr)
        config.media_marker = marker;
    return config;
}

void complain(const std::string& message) {
    std::cerr << "kvalet: " + message + '\n' << std::flush;
}

}  // namespace kvalet::cli
