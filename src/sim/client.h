// The client's side of a request: it reads its events and checks each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/events.h"
#include "engine/fake_backend.h"
#include "engine/request.h"
#include "sim/options.h"
#include "sim/workload.h"

namespace kvalet::sim {

struct Client {
    std::uint64_t number = 0;  // of its request
    Ask ask;
    TaskId task;
    std::shared_ptr<engine::Outbox> outbox;
    std::uint64_t text = 0;  // the fake backend's state after prompt and tokens so far
    std::int64_t n_tokens = 0;
    Micros asked_us = 0;
    Micros last_token_us = 0;
    std::uint64_t seen_step = 0;  // by the checker
    bool dirty = false;           // has unread events
    bool reads = true;            // false: it dawdles
    bool behind = false;          // it dawdled, and has not caught up
    bool parked = false;
    bool held = false;
    bool left = false;
    bool ended = false;

    [[nodiscard]] bool dawdler() const { return ask.dawdles_at >= 0; }
    [[nodiscard]] bool alive() const { return !left && !ended; }
};

/// The request of this client, for the engine.
[[nodiscard]] engine::Request request_of(Client& client, const engine::FakeBackend& backend,
                                         std::uint64_t seed, std::function<void()> notify);

/// Checks an event and books it. Nothing, or what is wrong with it.
[[nodiscard]] std::string take(Client& client, const engine::Event& event,
                               const engine::FakeBackend& backend);

}  // namespace kvalet::sim
