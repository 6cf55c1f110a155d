#include "cli/logging.h"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <spdlog/async.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <vector>

namespace kvalet::cli {

namespace {

/// --log-jsonl.
class JsonFormatter final : public spdlog::formatter {
  public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
        const auto since_epoch =
            std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch());
        const auto level = spdlog::level::to_string_view(message.level);
        const std::string line = fmt::format(R"({{"timestamp":{}.{:03},"level":"{}","message":{}}})"
                                             "\n",
                                             since_epoch.count() / 1000, since_epoch.count() % 1000,
                                             std::string_view(level.data(), level.size()),
                                             json_string({message.payload.data(), message.payload.size()}));
        into.append(line);
    }
    [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<JsonFormatter>();
    }
};

spdlog::level::level_enum level_of(const LogOptions& options) {
    if (options.disabled) return spdlog::level::off;
    switch (options.verbosity) {
        case 0:
            return spdlog::level::critical;
        case 1:
            return spdlog::level::err;
        case 2:
            return spdlog::level::warn;
        case 3:
            return spdlog::level::info;
        case 4:
            return spdlog::level::debug;
        default:
            return spdlog::level::trace;
    }
}

std::unique_ptr<spdlog::formatter> formatter_of(const LogOptions& options) {
    if (options.jsonl) return std::make_unique<JsonFormatter>();
    std::string pattern;
    if (options.timestamps) pattern += "%Y-%m-%d %H:%M:%S.%e ";
    if (options.prefix) pattern += "%^%L%$ ";
    return std::make_unique<spdlog::pattern_formatter>(pattern + "%v");
}

spdlog::sink_ptr console_of(const LogOptions& options) {
    if (options.jsonl) return std::make_shared<spdlog::sinks::stdout_sink_mt>();
    spdlog::color_mode mode = spdlog::color_mode::automatic;
    if (options.colors == Toggle::on) mode = spdlog::color_mode::always;
    if (options.colors == Toggle::off) mode = spdlog::color_mode::never;
    return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(mode);
}

}  // namespace

Status Logging::start(const LogOptions& options) {
    std::vector<spdlog::sink_ptr> sinks = {console_of(options)};
    if (!options.file.empty()) {
        try {
            sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file));
        } catch (const spdlog::spdlog_ex&) {
            return make_error(ErrorKind::invalid_request,
                              "--log-file: cannot write " + one_line(options.file));
        }
    }
    spdlog::init_thread_pool(kMaxQueuedLines, 1);
    auto logger =
        std::make_shared<spdlog::async_logger>("kvalet", sinks.begin(), sinks.end(), spdlog::thread_pool(),
                                               spdlog::async_overflow_policy::overrun_oldest);
    logger->set_formatter(formatter_of(options));
    logger->set_level(level_of(options));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    return Unit{};
}

void Logging::stop() {
    // Other threads may still write a last line, or be about to: the old logger stays alive, new lines go
    // nowhere.
    static std::shared_ptr<spdlog::logger> old;
    old = spdlog::default_logger();
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("off", std::make_shared<spdlog::sinks::null_sink_mt>()));
    spdlog::details::registry::instance().set_tp(nullptr);  // joins the writer after its queue is empty
    for (const spdlog::sink_ptr& sink : old->sinks()) sink->flush();
}

std::function<void(engine::LogLevel, std::string_view)> libllama_log() {
    return [](engine::LogLevel level, std::string_view line) {
        switch (level) {
            case engine::LogLevel::debug:
                spdlog::trace("libllama: {}", one_line(line));
                return;
            case engine::LogLevel::info:
                spdlog::debug("libllama: {}", one_line(line));
                return;
            case engine::LogLevel::warning:
                spdlog::warn("libllama: {}", one_line(line));
                return;
            case engine::LogLevel::error:
                spdlog::error("libllama: {}", one_line(line));
                return;
        }
    };
}

std::string line_of(const engine::ParkRecord& r) {
    return fmt::format(
        "park task={} slot={} reason={} mode={} cells={} bytes={} ms={:.2f} parks={} free={}->{}",
        r.task.value(), r.slot.value(), sched::name_of(r.reason), sched::name_of(r.mode), r.cells.value(),
        r.bytes.value(), r.ms, r.parks, r.free_before.value(), r.free_after.value());
}

std::string line_of(const engine::ResumeRecord& r) {
    return fmt::format(
        "resume task={} slot={} mode={} cells={} bytes={} ms={:.2f} parked_ms={:.0f} parks={} free={}->{}",
        r.task.value(), r.slot.value(), sched::name_of(r.mode), r.cells.value(), r.bytes.value(), r.ms,
        r.parked_ms, r.parks, r.free_before.value(), r.free_after.value());
}

void LogObserver::on_park(const engine::ParkRecord& record) {
    spdlog::info("{}", line_of(record));
}

void LogObserver::on_resume(const engine::ResumeRecord& record) {
    spdlog::info("{}", line_of(record));
}

void LogObserver::on_kv_full(Cells used, Cells pool) {
    spdlog::warn("the model's memory had no room although {} of {} cells were taken by our count",
                 used.value(), pool.value());
}

void LogObserver::on_warning(const std::string& sentence) {
    spdlog::warn("{}", one_line(sentence));
}

std::string one_line(std::string_view text) {
    std::string line(text);
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

std::string json_string(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kvalet::cli
