// P3.5: a hard limit, in bytes really held, and its high-water mark.
#include "engine/park_store.h"

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "sched/policy.h"

namespace kvalet::test {
namespace {

using engine::ParkStore;

TEST(ParkStore, TheBudgetIsAHardLimit) {
    ParkStore store(100);
    auto first = store.take(Bytes{60});
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->bytes().size(), 60U);
    EXPECT_FALSE(store.take(Bytes{41}).has_value());
    auto second = store.take(Bytes{40});
    EXPECT_TRUE(second.has_value());
    EXPECT_FALSE(store.take(Bytes{1}).has_value());
    EXPECT_EQ(store.held().value(), 100);
    first->release();
    EXPECT_EQ(store.held().value(), 40);
    EXPECT_TRUE(store.take(Bytes{60}).has_value()) << "and it is given back at once";
    EXPECT_EQ(store.held().value(), 40);
    EXPECT_EQ(store.high_water().value(), 100);
}

TEST(ParkStore, WithoutABudgetNothingIsTakenAndWithoutALimitAll) {
    EXPECT_FALSE(ParkStore(0).take(Bytes{1}).has_value());
    ParkStore store(sched::kUnlimited);
    EXPECT_TRUE(store.take(Bytes{1 << 20}).has_value());
    EXPECT_FALSE(store.take(Bytes{0}).has_value()) << "a snapshot that says 0 bytes has failed";
}

TEST(ParkStore, RefusedMemoryIsNotCounted) {
    ParkStore store(100, [](std::size_t) { return std::unique_ptr<std::byte[]>(); });
    EXPECT_FALSE(store.take(Bytes{50}).has_value());
    EXPECT_EQ(store.held().value(), 0);
    EXPECT_EQ(store.high_water().value(), 0);
}

TEST(ParkStore, BytesMoveWithTheirBuffer) {
    ParkStore store(100);
    std::vector<ParkStore::Buffer> buffers;
    for (int i = 0; i < 4; ++i) {
        buffers.push_back(std::move(*store.take(Bytes{25})));
    }
    EXPECT_EQ(store.held().value(), 100);
    buffers[0] = std::move(buffers[3]);
    EXPECT_EQ(store.held().value(), 75) << "what it held before is given back";
    buffers.clear();
    EXPECT_EQ(store.held().value(), 0);
}

}  // namespace
}  // namespace kvalet::test
