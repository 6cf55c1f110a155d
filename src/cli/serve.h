// `kvalet serve`: the wiring. Knows the rooms, but no model library: what makes the backend and the text
// model is handed in, so that the same server runs on the fake ones.
//
// Order of a start: signals, log, listener (every route answers 503 from here on), model, engine, ready.
// Order of an end: the first SIGTERM or SIGINT drains (new work gets 503, what is resident, waiting or parked
// finishes, exit code 0), a second one ends every stream with an error event at once (exit code 1). While the
// model is still being loaded there is nothing to drain: the first signal ends the process.
#pragma once

#include <functional>
#include <memory>

#include "api/config.h"
#include "cli/options.h"
#include "core/result.h"
#include "engine/backend.h"
#include "engine/engine.h"
#include "http/server.h"
#include "text/text_model.h"

namespace kvalet::cli {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;

/// The text model is gone before the backend, whose model it reads.
struct Loaded {
    std::unique_ptr<engine::Backend> backend;
    std::unique_ptr<text::TextModel> text;
};

/// Where the model comes from. The errors are one line that names the flag.
struct Loader {
    /// What can be seen at once, before anything is started: no such file. May be empty.
    std::function<Status(const ServeOptions&)> check;
    /// Runs on the main thread; may take minutes.
    std::function<Result<Loaded>(const ServeOptions&)> load;
};

/// Serves until it is told to end. Returns the exit code of the process; what went wrong was said in one line
/// on stderr.
[[nodiscard]] int run_server(const ServeOptions& options, const Loader& loader);

[[nodiscard]] engine::EngineConfig engine_config_of(const ServeOptions& options);
[[nodiscard]] http::ServerConfig http_config_of(const ServeOptions& options);
/// Before the model is known: without its sampling defaults.
[[nodiscard]] api::ApiConfig api_config_of(const ServeOptions& options);

/// "kvalet: message" on stderr.
void complain(const std::string& message);

}  // namespace kvalet::cli
