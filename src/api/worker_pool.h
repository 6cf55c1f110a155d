// The threads that parse bodies, render templates, tokenise, compile grammars and format long replies, so
// that the io thread never does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kvalet::api {

/// Requests that may wait for a worker; more get 429. Their bodies are bounded by the http room.
constexpr std::size_t kMaxQueuedJobs = 512;

class WorkerPool {
  public:
    using Job = std::function<void()>;

    explicit WorkerPool(int threads, std::size_t max_queued = kMaxQueuedJobs);
    ~WorkerPool();  // stop()
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Any thread. False when too many wait already, or after stop().
    [[nodiscard]] bool try_push(Job job);
    /// Any thread. For the second half of work that has been let in, which is bounded by the requests that
    /// run. Dropped after stop().
    void push(Job job);
    /// Finishes the jobs that run, drops those that wait, joins the threads. Idempotent; not on a worker.
    void stop();

  private:
    void work();

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<Job> jobs_;
    bool stopped_ = false;
    std::size_t max_queued_;
    std::vector<std::thread> threads_;
};

}  // namespace kvalet::api
