// SIGTERM and SIGINT as ordinary calls on a thread of their own: no code runs in a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace kvalet::cli {

class Signals {
  public:
    /// Blocks the two signals in this thread, and so in every thread it starts from now on; they are taken
    /// from here. Make it before any other thread. SIGPIPE is ignored: a write to a client that has left is
    /// an error, not an end.
    Signals();
    ~Signals();  // stop()
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// From now on `on_signal` is called for each signal with its number in order: 1 for the first. Once.
    void start(std::function<void(int count)> on_signal);
    /// No call is under way any more, and none will be. Idempotent; not from within a call.
    void stop();

  private:
    std::thread thread_;
    std::atomic<bool> stopping_{false};
};

}  // namespace kvalet::cli
