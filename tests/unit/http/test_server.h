// A server on a free port, and bodies that a test drives by hand.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"
#include "unit/http/test_client.h"

namespace kvalet::http::test {

/// Counts events of other threads and waits for them.
class Counter {
  public:
    void add() {
        const std::lock_guard lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    [[nodiscard]] std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return count_;
    }
    /// False when it does not come to that within half a minute.
    [[nodiscard]] bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return count_ >= count; });
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t count_ = 0;
};

/// Gives what is pushed. Thread-safe.
class QueueBody final : public Body {
  public:
    explicit QueueBody(Counter* destroyed = nullptr) : destroyed_(destroyed) {}
    ~QueueBody() override {
        if (destroyed_ != nullptr) {
            destroyed_->add();
        }
    }
    void push(std::string bytes) { append({Chunk::Kind::data, std::move(bytes), std::nullopt}); }
    void finish() { append({Chunk::Kind::end, {}, std::nullopt}); }
    /// What the body asks for while it has nothing.
    void set_wake_at(TimePoint at) {
        const std::lock_guard lock(mutex_);
        wake_at_ = at;
    }
    Chunk next(TimePoint now) override {
        calls.add();
        const std::lock_guard lock(mutex_);
        if (wake_at_ && now >= *wake_at_) {
            wake_at_.reset();
            return {Chunk::Kind::data, "keepalive", std::nullopt};
        }
        if (chunks_.empty()) {
            return {Chunk::Kind::wait, {}, wake_at_};
        }
        Chunk chunk = std::move(chunks_.front());
        chunks_.pop_front();
        return chunk;
    }
    Counter calls;

  private:
    void append(Chunk chunk) {
        const std::lock_guard lock(mutex_);
        chunks_.push_back(std::move(chunk));
    }
    std::mutex mutex_;
    std::deque<Chunk> chunks_;
    std::optional<TimePoint> wake_at_;
    Counter* destroyed_;
};

/// Exchanges that handlers put aside for the test to answer.
class Desk {
  public:
    [[nodiscard]] Handler handler() {
        return [this](std::shared_ptr<Exchange> exchange) {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(std::move(exchange));
            arrived_.notify_all();
        };
    }
    /// The next request, in order of arrival.
    [[nodiscard]] std::shared_ptr<Exchange> take() {
        std::unique_lock lock(mutex_);
        if (!arrived_.wait_for(lock, std::chrono::seconds(30), [&] { return !waiting_.empty(); })) {
            throw std::runtime_error("no request arrived");
        }
        auto exchange = std::move(waiting_.front());
        waiting_.pop_front();
        return exchange;
    }
    [[nodiscard]] bool empty() {
        const std::lock_guard lock(mutex_);
        return waiting_.empty();
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::shared_ptr<Exchange>> waiting_;
};

[[nodiscard]] inline Reply text_reply(std::string text) {
    return {200, "text/plain", {}, std::move(text), nullptr};
}

[[nodiscard]] inline Reply stream_reply(std::shared_ptr<Body> body) {
    return {200, "text/event-stream", {}, {}, std::move(body)};
}

/// Adds GET /ping and POST /echo, which every test may need, and starts.
[[nodiscard]] inline std::unique_ptr<Server> start_server(Router router = {}, ServerConfig config = {}) {
    router.add("GET", "/ping",
               [](const std::shared_ptr<Exchange>& exchange) { exchange->send(text_reply("pong")); });
    router.add("POST", "/echo", [](const std::shared_ptr<Exchange>& exchange) {
        exchange->send(text_reply(exchange->request().body));
    });
    config.port = 0;
    auto server = Server::listen(std::move(config), std::move(router));
    if (!server) {
        throw std::runtime_error(server.error().message);
    }
    server.value()->run_in_thread();
    return std::move(server).value();
}

/// Has the io thread done everything that was posted to it before? Asked through a connection of its own.
inline void round_trip(const Server& server) {
    TestClient client(server.port());
    if (client.get("/ping").body != "pong") {
        throw std::runtime_error("no pong");
    }
}

/// Does the number of exchanges come to `count`? A client has a reply in hand a little before the server
/// counts it as over, so there is something to wait for; it is asked after each of many round trips.
[[nodiscard]] inline bool comes_to(const Server& server, std::size_t count) {
    constexpr int kRounds = 10'000;
    for (int i = 0; i < kRounds && server.open_exchanges() != count; ++i) {
        round_trip(server);
    }
    return server.open_exchanges() == count;
}

}  // namespace kvalet::http::test
