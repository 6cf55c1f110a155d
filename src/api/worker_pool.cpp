#include "api/worker_pool.h"

#include <algorithm>
#include <utility>

namespace kvalet::api {

WorkerPool::WorkerPool(int threads, std::size_t max_queued) : max_queued_(max_queued) {
    for (int i = 0; i < std::max(threads, 1); ++i) {
        threads_.emplace_back([this] { work(); });
    }
}

WorkerPool::~WorkerPool() {
    stop();
}

bool WorkerPool::try_push(Job job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_ || jobs_.size() >= max_queued_) {
            return false;
        }
        jobs_.push_back(std::move(job));
    }
    arrived_.notify_one();
    return true;
}

void WorkerPool::push(Job job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) {
            return;
        }
        jobs_.push_back(std::move(job));
    }
    arrived_.notify_one();
}

void WorkerPool::stop() {
    std::deque<Job> dropped;  // destroyed without the lock: a job's end may reply
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        dropped.swap(jobs_);
    }
    dropped.clear();
    arrived_.notify_all();
    for (std::thread& thread : threads_) {
        if (thread.joinable()) {
            thread.join();
        }
    }
}

void WorkerPool::work() {
    while (true) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            arrived_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
            if (stopped_) {
                return;
            }
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }
}

}  // namespace kvalet::api
