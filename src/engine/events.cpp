#include "engine/events.h"

#include <utility>

namespace kvalet::engine {

Outbox::Outbox(std::function<void()> notify, std::size_t capacity)
    : notify_(std::move(notify)), capacity_(capacity) {}

void Outbox::push(Event event) {
    bool was_empty = false;
    {
        const std::lock_guard lock(mutex_);
        was_empty = events_.empty();
        events_.push_back(std::move(event));
        full_ = full_ || events_.size() >= capacity_;
    }
    arrived_.notify_one();
    if (was_empty && notify_) {
        notify_();
    }
}

bool Outbox::room() const {
    const std::lock_guard lock(mutex_);
    return !full_;
}

std::optional<Event> Outbox::try_pop() {
    std::optional<Event> event;
    std::function<void()> room_again;
    {
        const std::lock_guard lock(mutex_);
        if (events_.empty()) {
            return std::nullopt;
        }
        event = std::move(events_.front());
        events_.pop_front();
        if (full_ && events_.size() <= capacity_ / 2) {
            full_ = false;
            room_again = on_room_;
        }
    }
    if (room_again) {
        room_again();
    }
    return event;
}

Event Outbox::wait_pop() {
    {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return !events_.empty(); });
    }
    return *try_pop();
}

void Outbox::on_room(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    on_room_ = std::move(callback);
}

}  // namespace kvalet::engine
