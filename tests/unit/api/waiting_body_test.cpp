// White space in front of a body that is not ready, in a clock of the test's own.
#include "api/waiting_body.h"

#include <gtest/gtest.h>

namespace kvalet::api {
namespace {

using Kind = http::Body::Chunk::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WaitingBody, ASpaceAtOnceAndThenOneForEachInterval) {
    WaitingBody body{seconds{15}};
    http::TimePoint now{seconds{1000}};
    const http::TimePoint begin = now;
    http::Body::Chunk chunk = body.next(now);
    EXPECT_EQ(chunk.kind, Kind::data);
    EXPECT_EQ(chunk.bytes, " ");
    chunk = body.next(now);
    EXPECT_EQ(chunk.kind, Kind::wait);
    EXPECT_EQ(chunk.wake_at, begin + seconds{15});
    now = begin + seconds{16};  // late
    EXPECT_EQ(body.next(now).bytes, " ");
    EXPECT_EQ(body.next(now).wake_at, begin + seconds{30}) << "a fixed grid";
    now = begin + seconds{100};  // the client did not read for a while
    EXPECT_EQ(body.next(now).bytes, " ");
    EXPECT_EQ(body.next(now).kind, Kind::wait) << "what was missed is not made up for";
}

TEST(WaitingBody, EndsWithTheBody) {
    WaitingBody body{seconds{15}};
    const http::TimePoint now{seconds{1000}};
    (void)body.next(now);
    body.finish(R"({"a":1})");
    const http::Body::Chunk last = body.next(now);
    EXPECT_EQ(last.kind, Kind::end);
    EXPECT_EQ(last.bytes, R"({"a":1})");

    WaitingBody ready{seconds{15}};
    ready.finish("{}");
    EXPECT_EQ(ready.next(now).bytes, "{}") << "no space in front of one that is there";
}

}  // namespace
}  // namespace kvalet::api
