// A streamed reply: from the events of its generations to server-sent events, with the notices and keepalives
// of P8. Knows no socket: somebody pulls it and tells it the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/reply.h"

namespace kvalet::api {

using TimePoint = std::chrono::steady_clock::time_point;

/// P8.1: one `: preempt-keepalive` each while parked, or `: queue-keepalive` while no slot is free.
constexpr std::chrono::seconds kKeepaliveInterval{2};

class SseStream {
  public:
    /// The next event of one generation, or nothing now.
    using Source = std::function<std::optional<engine::Event>()>;
    /// How many wait before this stream's request, if that is known.
    using PlaceInQueue = std::function<std::optional<std::size_t>()>;

    SseStream(ReplyContext context, std::vector<Source> sources, PlaceInQueue place = {});

    enum class Opening : std::uint8_t {
        not_yet,  // no event so far: no status is decided (llama-server-api 3.7)
        open,     // 200, and the stream begins; next() from now on
        failed,   // the first event was an error: an ordinary HTTP status (error())
    };
    /// Looks for the first event. P8.2: a park before the first token opens the stream as well.
    [[nodiscard]] Opening open(TimePoint now);

    /// There is no event after a while: the stream begins all the same, and says that its request waits.
    void open_waiting(TimePoint now);

    struct Chunk {
        enum class Kind : std::uint8_t { data, wait, end };
        Kind kind = Kind::wait;
        std::string bytes;
        std::optional<TimePoint> wake_at;  // wait: a fixed point in time, not an interval (P8.3)
    };
    /// One event's bytes; or wait for an event or wake_at; or the end, with the stream's last bytes.
    [[nodiscard]] Chunk next(TimePoint now);

    /// Something went wrong outside of the generations: the stream ends with this error event.
    void fail(Error error);

    /// A generation (or fail()) ended it: the others should be cancelled.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    enum class Place : std::uint8_t { queued, running, parked, ended };
    struct Task {
        Source source;
        bool role_sent = false;
        Place place = Place::queued;
        TimePoint next_keepalive;  // while parked
    };

    [[nodiscard]] std::string due_keepalives(TimePoint now);
    [[nodiscard]] std::string queue_comment(std::string_view word) const;
    [[nodiscard]] bool any(Place place) const;
    [[nodiscard]] std::string next_event(TimePoint now);
    [[nodiscard]] std::string bytes_of(int index, const engine::Event& event, TimePoint now);
    [[nodiscard]] std::string token_bytes(int index, const engine::TokenOut& token);
    [[nodiscard]] std::string progress_bytes(int index, const engine::Progress& progress) const;
    [[nodiscard]] std::string final_bytes(int index, const engine::Finished& end) const;
    [[nodiscard]] std::string notice_bytes(int index, std::string_view comment) const;
    [[nodiscard]] std::optional<TimePoint> next_deadline() const;
    [[nodiscard]] Chunk data(std::string bytes, TimePoint now);

    ReplyContext context_;
    std::vector<Task> tasks_;
    PlaceInQueue place_in_queue_;
    TimePoint next_queue_keepalive_;  // while one of them is queued
    std::size_t cursor_ = 0;          // whose turn it is: a fast generation does not starve another's events
    std::optional<Error> error_;
    std::string pending_;  // made by open()
    TimePoint last_sent_;
    bool closed_ = false;
};

/// `data: …` and an empty line.
[[nodiscard]] std::string sse_frame(const Json& event);

}  // namespace kvalet::api
