// The server's log: spdlog behind four functions, set up once from the flags. A line is written by a thread
// of its own from a bounded queue, so that a terminal that does not read cannot hold up the engine; what does
// not fit is dropped, oldest first.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "core/result.h"
#include "engine/llama_options.h"
#include "engine/observer.h"

namespace kvalet::cli {

/// Lines that may wait to be written.
constexpr std::size_t kMaxQueuedLines = 8192;

/// Sets the log up, while it lives. One at a time.
class Logging {
  public:
    /// Error: --log-file cannot be written.
    [[nodiscard]] static Status start(const LogOptions& options);
    /// Writes what is queued, then every further line goes nowhere. Idempotent.
    static void stop();
};

/// For engine::LlamaOptions::log: libllama's information counts as detail (level 4), as it is some hundred
/// lines for each model; its warnings and errors are ours. Any thread.
[[nodiscard]] std::function<void(engine::LogLevel, std::string_view)> libllama_log();

/// P6.4: one line for each park and resume. Warnings of the engine as well.
class LogObserver final : public engine::Observer {
  public:
    void on_park(const engine::ParkRecord& record) override;
    void on_resume(const engine::ResumeRecord& record) override;
    void on_kv_full(Cells used, Cells pool) override;
    void on_warning(const std::string& sentence) override;
};

[[nodiscard]] std::string line_of(const engine::ParkRecord& record);
[[nodiscard]] std::string line_of(const engine::ResumeRecord& record);

/// Control characters (a newline in a name of a model, an escape sequence in a request) become blanks: one
/// record, one line, and nothing that a terminal would act on.
[[nodiscard]] std::string one_line(std::string_view text);

/// A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace kvalet::cli
