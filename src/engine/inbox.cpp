#include "engine/inbox.h"

#include <utility>

#include "core/assert.h"

namespace kvalet::engine {

void Inbox::push(Command command) {
    {
        const std::lock_guard lock(mutex_);
        commands_.push_back(std::move(command));
    }
    arrived_.notify_one();
}

void Inbox::poke() {
    {
        const std::lock_guard lock(mutex_);
        poked_ = true;
    }
    arrived_.notify_one();
}

void Inbox::take(std::vector<Command>& into) {
    KVALET_ASSERT(into.empty(), "commands would be lost");
    const std::lock_guard lock(mutex_);
    poked_ = false;
    into.swap(commands_);
}

void Inbox::wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, at_most, [this] { return poked_ || !commands_.empty(); });
}

}  // namespace kvalet::engine
