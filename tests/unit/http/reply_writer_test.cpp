#include "http/reply_writer.h"

#include <gtest/gtest.h>

#include "http/deadlines.h"
#include "http/stream.h"

namespace kvalet::http {
namespace {

std::string all_of(const Outgoing& out) {
    std::string bytes;
    for (const std::string_view part : out.left()) {
        bytes += part;
    }
    return bytes;
}

TEST(ReplyWriter, WritesTheHead) {
    EXPECT_EQ(
        make_head({200, Framing::length, 5, true, false, "D"}, "text/plain", {{"X-A", "b"}}),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nX-A: b\r\nDate: D\r\n\r\n");
    EXPECT_EQ(make_head({204, Framing::none, 0, true, true, ""}, "", {}),
              "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(make_head({299, Framing::chunked, 0, false, false, ""}, "", {}),
              "HTTP/1.1 299 Unknown\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(ReplyWriter, LetsNoValueAddAHeader) {
    EXPECT_EQ(make_head({200, Framing::length, 0, true, false, ""}, "",
                        {{"X-A", "b\r\nX-Evil: 1"}, {"Content-Length", "7"}, {"transfer-encoding", "gzip"}}),
              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: b  X-Evil: 1\r\n\r\n");
}

TEST(ReplyWriter, WritesDatesInGmt) {
    EXPECT_EQ(http_date(std::chrono::system_clock::from_time_t(784887151)), "Tue, 15 Nov 1994 08:12:31 GMT");
}

TEST(Outgoing, AdvancesAcrossItsParts) {
    Outgoing out("ab", "cde", "f");
    EXPECT_EQ(all_of(out), "abcdef");
    out.advance(3);
    EXPECT_EQ(all_of(out), "def");
    EXPECT_FALSE(out.empty());
    out.advance(3);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(all_of(out), "");
}

class ScriptBody final : public Body {
  public:
    explicit ScriptBody(std::vector<Chunk> chunks) : chunks_(std::move(chunks)) {}
    Chunk next(TimePoint) override { return at_ < chunks_.size() ? chunks_[at_++] : Chunk{}; }

  private:
    std::vector<Chunk> chunks_;
    std::size_t at_ = 0;
};

using Kind = Body::Chunk::Kind;

TEST(Stream, FramesChunks) {
    const TimePoint later = TimePoint{} + std::chrono::seconds(5);
    Stream stream(std::make_shared<ScriptBody>(std::vector<Body::Chunk>{{Kind::data, "0123456789abcdef", {}},
                                                                        {Kind::wait, {}, later},
                                                                        {Kind::data, "", {}},
                                                                        {Kind::data, "x", {}},
                                                                        {Kind::end, {}, {}}}),
                  true);
    auto step = stream.pull({});
    EXPECT_EQ(step.kind, Stream::Step::Kind::write);
    EXPECT_EQ(all_of(step.out), "10\r\n0123456789abcdef\r\n");
    step = stream.pull({});
    EXPECT_EQ(step.kind, Stream::Step::Kind::wait);
    EXPECT_EQ(step.wake_at, later);
    EXPECT_EQ(all_of(stream.pull({}).out), "1\r\nx\r\n");  // the empty one would have ended the body
    step = stream.pull({});
    EXPECT_EQ(step.kind, Stream::Step::Kind::finish);
    EXPECT_EQ(all_of(step.out), "0\r\n\r\n");
}

TEST(Stream, LeavesBytesAloneWithoutChunking) {
    Stream stream(
        std::make_shared<ScriptBody>(std::vector<Body::Chunk>{{Kind::data, "abc", {}}, {Kind::end, "d", {}}}),
        false);
    EXPECT_EQ(all_of(stream.pull({}).out), "abc");
    EXPECT_EQ(all_of(stream.pull({}).out), "d");
}

TEST(Stream, EndMayCarryTheLastBytes) {
    Stream stream(std::make_shared<ScriptBody>(std::vector<Body::Chunk>{{Kind::end, "d", {}}}), true);
    EXPECT_EQ(all_of(stream.pull({}).out), "1\r\nd\r\n0\r\n\r\n");
}

TEST(Stream, ABodyOfEmptyChunksCannotHoldTheThread) {
    Stream stream(std::make_shared<ScriptBody>(std::vector<Body::Chunk>(100'000, {Kind::data, "", {}})),
                  true);
    const TimePoint now = TimePoint{} + std::chrono::seconds(1);
    const auto step = stream.pull(now);
    EXPECT_EQ(step.kind, Stream::Step::Kind::wait);
    EXPECT_EQ(step.wake_at, now);
}

TEST(Deadlines, TakesWhatIsDueAndKeepsTheRest) {
    const TimePoint start = TimePoint{} + std::chrono::hours(1);
    const auto at = [&](int s) { return start + std::chrono::seconds(s); };
    Deadlines deadlines;
    EXPECT_EQ(deadlines.earliest(), Deadlines::kNever);
    deadlines.set(Deadline::wake, at(3));
    deadlines.set(Deadline::write, at(2));
    deadlines.set(Deadline::linger, at(9));
    EXPECT_EQ(deadlines.earliest(), at(2));
    EXPECT_TRUE(deadlines.take_due(at(1)).empty());
    EXPECT_EQ(deadlines.take_due(at(3)), (std::vector<Deadline>{Deadline::write, Deadline::wake}));
    EXPECT_EQ(deadlines.earliest(), at(9));
    deadlines.set(Deadline::linger, at(20));
    EXPECT_EQ(deadlines.earliest(), at(20));
    deadlines.clear(Deadline::linger);
    EXPECT_EQ(deadlines.earliest(), Deadlines::kNever);
}

}  // namespace
}  // namespace kvalet::http
