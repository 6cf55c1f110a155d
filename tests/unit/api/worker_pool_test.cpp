// The limits and the end of the worker pool.
#include "api/worker_pool.h"

#include <future>
#include <gtest/gtest.h>

namespace kvalet::api {
namespace {

TEST(WorkerPool, RefusesAboveItsLimit) {
    WorkerPool pool(1, 2);
    std::promise<void> started, release;
    ASSERT_TRUE(pool.try_push([&] {
        started.set_value();
        release.get_future().wait();
    }));
    started.get_future().wait();
    std::promise<void> last;
    EXPECT_TRUE(pool.try_push([] {}));
    EXPECT_TRUE(pool.try_push([] {}));
    EXPECT_FALSE(pool.try_push([] {}));
    pool.push([&] { last.set_value(); });  // work that was let in is never refused
    release.set_value();
    last.get_future().wait();
}

TEST(WorkerPool, StopDropsWhatWaits) {
    WorkerPool pool(1);
    std::promise<void> started, release;
    std::future<void> may_end = release.get_future();
    ASSERT_TRUE(pool.try_push([&] {
        started.set_value();
        may_end.wait();
    }));
    started.get_future().wait();
    bool ran = false;
    auto token = std::make_shared<int>(0);
    ASSERT_TRUE(pool.try_push([&ran, token] { ran = true; }));
    std::weak_ptr<int> dropped = token;
    token.reset();
    std::thread stopping([&] { pool.stop(); });
    while (!dropped.expired()) {  // dropped while the first job still runs
        std::this_thread::yield();
    }
    release.set_value();
    stopping.join();
    EXPECT_FALSE(ran);
    EXPECT_FALSE(pool.try_push([] {}));
}

}  // namespace
}  // namespace kvalet::api
