#include "api/sse_stream.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/errors.h"
#include "api/json.h"
#include "api/keepalive_grid.h"

namespace kvalet::api {

namespace {

template <class... Cases>
struct Match : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

std::string frames(const std::vector<Json>& events) {
    std::string bytes;
    for (const Json& event : events) {
        bytes += sse_frame(event);
    }
    return bytes;
}

/// The fixed word comes first, so that a client which looks for it finds it.
std::string preempted_comment(const engine::ParkedNotice& notice) {
    return "preempted reason=" + std::string(sched::name_of(notice.reason)) +
           " ahead=" + std::to_string(notice.ahead);
}

}  // namespace

std::string sse_frame(const Json& event) {
    return "data: " + dump(event) + "\n\n";
}

SseStream::SseStream(ReplyContext context, std::vector<Source> sources, PlaceInQueue place)
    : context_(std::move(context)), place_in_queue_(std::move(place)) {
    for (Source& source : sources) {
        tasks_.push_back(Task{std::move(source), false, Place::queued, {}});
    }
}

SseStream::Opening SseStream::open(TimePoint now) {
    last_sent_ = now;
    next_queue_keepalive_ = now + kKeepaliveInterval;
    for (std::size_t i = 0; i < tasks_.size() && !error_; ++i) {
        std::optional<engine::Event> event = tasks_[i].source();
        if (!event) {
            continue;
        }
        if (auto* failed = std::get_if<engine::Failed>(&*event)) {
            fail(std::move(failed->error));
            break;
        }
        pending_ = bytes_of(static_cast<int>(i), *event, now);
        return Opening::open;
    }
    return error_ ? Opening::failed : Opening::not_yet;
}

void SseStream::open_waiting(TimePoint now) {
    last_sent_ = now;
    next_queue_keepalive_ = now + kKeepaliveInterval;
    pending_ = notice_bytes(0, queue_comment("queued"));
}

void SseStream::fail(Error error) {
    if (!error_) {
        error_ = std::move(error);
    }
}

SseStream::Chunk SseStream::data(std::string bytes, TimePoint now) {
    last_sent_ = now;
    return Chunk{Chunk::Kind::data, std::move(bytes), std::nullopt};
}

SseStream::Chunk SseStream::next(TimePoint now) {
    if (closed_) {
        return Chunk{Chunk::Kind::end, {}, std::nullopt};
    }
    if (!pending_.empty()) {
        return data(std::exchange(pending_, {}), now);
    }
    if (std::string bytes = due_keepalives(now); !bytes.empty()) {
        return data(std::move(bytes), now);
    }
    if (std::string bytes = error_ ? std::string{} : next_event(now); !bytes.empty()) {
        return data(std::move(bytes), now);
    }
    if (error_) {
        closed_ = true;
        return Chunk{Chunk::Kind::end, "data: " + error_body(*error_) + "\n\n", std::nullopt};
    }
    if (std::all_of(tasks_.begin(), tasks_.end(), [](const Task& t) { return t.place == Place::ended; })) {
        closed_ = true;
        const bool done_marker = context_.dialect != Dialect::native;
        return Chunk{Chunk::Kind::end, done_marker ? "data: [DONE]\n\n" : "", std::nullopt};
    }
    const std::chrono::seconds ping{context_.params.sse_ping_interval_s};
    if (ping.count() > 0 && now >= last_sent_ + ping) {
        return data(":\n\n", now);
    }
    return Chunk{Chunk::Kind::wait, {}, next_deadline()};
}

bool SseStream::any(Place place) const {
    return std::any_of(tasks_.begin(), tasks_.end(), [place](const Task& t) { return t.place == place; });
}

std::optional<TimePoint> SseStream::next_deadline() const {
    std::optional<TimePoint> earliest;
    const auto consider = [&](TimePoint at) { earliest = earliest ? std::min(*earliest, at) : at; };
    if (context_.params.sse_ping_interval_s > 0) {
        consider(last_sent_ + std::chrono::seconds{context_.params.sse_ping_interval_s});
    }
    if (context_.params.sse_notices == SseNotices::off) {
        return earliest;
    }
    if (any(Place::queued)) {
        consider(next_queue_keepalive_);
    }
    for (const Task& task : tasks_) {
        if (task.place == Place::parked) {
            consider(task.next_keepalive);
        }
    }
    return earliest;
}

std::string SseStream::due_keepalives(TimePoint now) {
    std::string bytes;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        Task& task = tasks_[i];
        if (task.place == Place::parked && task.next_keepalive <= now) {
            bytes += notice_bytes(static_cast<int>(i), "preempt-keepalive");
            move_past(task.next_keepalive, now, kKeepaliveInterval);
        }
    }
    if (next_queue_keepalive_ <= now && any(Place::queued)) {
        bytes += notice_bytes(0, queue_comment("queue-keepalive"));
        move_past(next_queue_keepalive_, now, kKeepaliveInterval);
    }
    return bytes;
}

std::string SseStream::queue_comment(std::string_view word) const {
    const std::optional<std::size_t> ahead = place_in_queue_ ? place_in_queue_() : std::nullopt;
    return std::string(word) + (ahead ? " ahead=" + std::to_string(*ahead) : "");
}

/// The bytes of the next event that has any; empty when there is none now.
std::string SseStream::next_event(TimePoint now) {
    std::size_t without = 0;  // generations in a row that had nothing
    while (without < tasks_.size() && !error_) {
        const std::size_t i = cursor_;
        cursor_ = (cursor_ + 1) % tasks_.size();
        std::optional<engine::Event> event =
            tasks_[i].place == Place::ended ? std::nullopt : tasks_[i].source();
        if (!event) {
            ++without;
            continue;
        }
        without = 0;
        if (std::string bytes = bytes_of(static_cast<int>(i), *event, now); !bytes.empty()) {
            return bytes;
        }
    }
    return {};
}

std::string SseStream::bytes_of(int index, const engine::Event& event, TimePoint now) {
    Task& task = tasks_[static_cast<std::size_t>(index)];
    task.place = task.place == Place::queued ? Place::running : task.place;
    return std::visit(Match{
                          [](const engine::Started&) { return std::string{}; },
                          [&](const engine::Progress& progress) { return progress_bytes(index, progress); },
                          [&](const engine::TokenOut& token) { return token_bytes(index, token); },
                          [&](const engine::ParkedNotice& notice) {
                              task.place = Place::parked;
                              task.next_keepalive = now + kKeepaliveInterval;
                              return notice_bytes(index, preempted_comment(notice));
                          },
                          [&](const engine::ResumedNotice&) {
                              task.place = Place::running;
                              return notice_bytes(index, "resumed");
                          },
                          [&](const engine::Finished& end) {
                              task.place = Place::ended;
                              return final_bytes(index, end);
                          },
                          [&](const engine::Failed& failed) {
                              task.place = Place::ended;
                              fail(failed.error);
                              return std::string{};
                          },
                      },
                      event);
}

std::string SseStream::token_bytes(int index, const engine::TokenOut& token) {
    if (token.piece.incomplete_utf8 && token.piece.text.empty()) {
        return {};  // llama-server sends no event for it (llama-server-api 1.6)
    }
    switch (context_.dialect) {
        case Dialect::native:
            return sse_frame(native_token(context_, index, token));
        case Dialect::oai_completion:
            return sse_frame(oai_token(context_, index, token));
        case Dialect::oai_chat:
            break;
    }
    Task& task = tasks_[static_cast<std::size_t>(index)];
    return frames(chat_token(context_, index, !std::exchange(task.role_sent, true), token));
}

std::string SseStream::progress_bytes(int index, const engine::Progress& progress) const {
    switch (context_.dialect) {
        case Dialect::native:
            return sse_frame(native_progress(context_, index, progress));
        case Dialect::oai_completion:
            return sse_frame(oai_progress(context_, index, progress));
        case Dialect::oai_chat:
            break;
    }
    return sse_frame(chat_progress(context_, index, progress));
}

std::string SseStream::final_bytes(int index, const engine::Finished& end) const {
    TaskResult result;
    result.index = index;
    result.end = end;
    switch (context_.dialect) {
        case Dialect::native:
            return sse_frame(native_final(context_, result));
        case Dialect::oai_completion:
            return sse_frame(oai_final(context_, result));
        case Dialect::oai_chat:
            break;
    }
    std::vector<Json> chunks = chat_stream_final(context_, result);
    if (!tasks_[static_cast<std::size_t>(index)].role_sent) {
        chunks.insert(chunks.begin(), chat_role(context_, index));  // ended before any text
    }
    return frames(chunks);
}

std::string SseStream::notice_bytes(int index, std::string_view comment) const {
    switch (context_.params.sse_notices) {
        case SseNotices::off:
            return {};
        case SseNotices::comments:
            return ": " + std::string(comment) + "\n\n";
        case SseNotices::data:
            break;
    }
    switch (context_.dialect) {
        case Dialect::native:
            return sse_frame(native_empty(context_, index));
        case Dialect::oai_completion:
            return sse_frame(oai_empty(context_, index));
        case Dialect::oai_chat:
            break;
    }
    return sse_frame(chat_empty(context_, index));
}

}  // namespace kvalet::api
