// What the engine tells a request's client, and the bounded outbox it tells it through.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "sched/reason.h"
#include "text/generation.h"

namespace kvalet::engine {

/// The client's view of its own work: parks and replays leave no trace in the counts nor in prompt_ms (P6.3).
struct Timings {
    Tokens cache_n;   // prompt tokens taken from the slot's cache; cache_n + prompt_n is the prompt, once
    Tokens prompt_n;  // prompt tokens computed
    double prompt_ms = 0;     // without time parked or replaying
    Tokens predicted_n;       // tokens generated
    double predicted_ms = 0;  // wall clock since the first token
};

/// The prompt is about to be processed: from here on a stream may send its headers (llama-server-api 3.7).
struct Started {
    SlotId slot;
    Tokens n_prompt;
    Tokens n_cached;
};

/// Sent with return_progress: after each chunk of the prompt, and once at its start.
struct Progress {
    Tokens total, cache, processed;  // processed counts the cached ones too
    double time_ms = 0;
};

struct TokenOut {
    text::Piece piece;
    Tokens n_prompt;
    Tokens n_decoded;  // tokens generated so far, this one included
    Timings timings;   // as of this token
};

struct ParkedNotice {
    sched::ParkReason reason = sched::ParkReason::kv_full;
    int ahead = 0;  // parked sequences that come back before this one
};
struct ResumedNotice {};

/// The ordinary end. Always the last event.
struct Finished {
    SlotId slot;
    text::StopType stop = text::StopType::none;
    std::string stopping_word;
    bool truncated = false;
    bool has_new_line = false;
    Tokens n_prompt;
    Tokens n_decoded;
    Tokens n_cached_now;  // tokens that the slot holds now (llama-server's tokens_cached)
    Timings timings;
};

/// The request failed. Always the last event.
struct Failed {
    Error error;
};

using Event = std::variant<Started, Progress, TokenOut, ParkedNotice, ResumedNotice, Finished, Failed>;

[[nodiscard]] inline bool is_last(const Event& e) {
    return std::holds_alternative<Finished>(e) || std::holds_alternative<Failed>(e);
}

/// Events on their way from the engine thread to one reader. The engine asks room() before it decodes for the
/// sequence, so a slow reader holds up nobody else and costs bounded memory; notices and the last event are
/// always taken. A box that was full has room again when it is half empty: its sequence may be parked
/// meanwhile, and is not brought back for every single token.
class Outbox {
  public:
    /// Tokens that may wait for the reader before its sequence is held back.
    static constexpr std::size_t kDefaultCapacity = 256;

    explicit Outbox(std::function<void()> notify = {}, std::size_t capacity = kDefaultCapacity);

    /// Engine thread. Calls `notify` (on the engine thread: it must be short and must not block) when the box
    /// was empty.
    void push(Event event);
    /// Engine thread: whether one more token may be made for this reader.
    [[nodiscard]] bool room() const;

    /// Reader: the next event, or nothing now.
    [[nodiscard]] std::optional<Event> try_pop();
    /// Reader that may block (tests, tools): waits for the next event.
    [[nodiscard]] Event wait_pop();

    /// Called (reader's thread) when the box was full and has room again: the engine may be asleep, or the
    /// sequence parked. Set before submit.
    void on_room(std::function<void()> callback);

  private:
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Event> events_;
    std::function<void()> notify_;
    std::function<void()> on_room_;
    std::size_t capacity_;
    bool full_ = false;
};

}  // namespace kvalet::engine
