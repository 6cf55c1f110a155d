// Streams in a clock of the test's own: frames, notices, keepalives, pings, ends.
#include "api/sse_stream.h"

#include <deque>
#include <gtest/gtest.h>

#include "api_test_model.h"

namespace kvalet::api {
namespace {

using Kind = SseStream::Chunk::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A stream of one or two generations whose events the test puts in by hand.
class Streamed {
  public:
    explicit Streamed(std::string_view body, Dialect dialect = Dialect::native, std::size_t generations = 1,
                      SseStream::PlaceInQueue place = {})
        : queues_(generations) {
        std::vector<SseStream::Source> sources;
        for (auto& queue : queues_) {
            sources.push_back([&queue]() -> std::optional<engine::Event> {
                if (queue.empty()) {
                    return std::nullopt;
                }
                engine::Event event = std::move(queue.front());
                queue.pop_front();
                return event;
            });
        }
        stream_.emplace(fixture_.reply_to(body, dialect), std::move(sources), std::move(place));
    }

    void put(engine::Event event, std::size_t generation = 0) {
        queues_[generation].push_back(std::move(event));
    }
    SseStream& stream() { return *stream_; }
    TimePoint now{seconds{1000}};

    /// All bytes up to the next wait or the end.
    std::string drain() {
        std::string bytes;
        while (true) {
            last = stream_->next(now);
            bytes += last.bytes;
            if (last.kind != Kind::data) {
                return bytes;
            }
        }
    }
    SseStream::Chunk last;

  private:
    Fixture fixture_;
    std::vector<std::deque<engine::Event>> queues_;
    std::optional<SseStream> stream_;
};

const char* const kChat = R"({"messages":[{"role":"user","content":"a"}],"stream":true})";
const char* const kNative = R"({"prompt":"a","stream":true,"response_fields":["stop"]})";

std::string native_event(const std::string& content, int n_decoded) {
    return R"(data: {"index":0,"content":")" + content +
           R"(","tokens":[120],"stop":false,"id_slot":-1,"tokens_predicted":)" + std::to_string(n_decoded) +
           R"(,"tokens_evaluated":3})" + "\n\n";
}

TEST(SseStream, TheFirstEventDecidesTheStatus) {
    Streamed s(kNative);
    EXPECT_EQ(s.stream().open(s.now), SseStream::Opening::not_yet);
    s.put(engine::Failed{make_error(ErrorKind::exceed_context_size, "too long")});
    EXPECT_EQ(s.stream().open(s.now), SseStream::Opening::failed);
    EXPECT_EQ(s.stream().error()->message, "too long");

    Streamed started(kNative);
    started.put(engine::Started{});
    EXPECT_EQ(started.stream().open(started.now), SseStream::Opening::open);
    EXPECT_EQ(started.drain(), "");
    EXPECT_EQ(started.last.kind, Kind::wait);
}

TEST(SseStream, NativeFrames) {
    Streamed s(kNative);
    s.put(engine::Started{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(token_out("h", 1));
    engine::TokenOut half = token_out("", 2);
    half.piece.incomplete_utf8 = true;
    s.put(half);
    s.put(token_out("", 3));
    const SseStream::Chunk first = s.stream().next(s.now);
    EXPECT_EQ(first.kind, Kind::data);
    EXPECT_EQ(first.bytes, native_event("h", 1)) << "one event for each chunk";
    EXPECT_EQ(s.drain(), native_event("", 3)) << "no event for half a character, one for empty text";
    EXPECT_EQ(s.last.kind, Kind::wait);
    s.put(finished());
    EXPECT_EQ(s.drain(), "data: {\"stop\":true}\n\n");
    EXPECT_EQ(s.last.kind, Kind::end);
    EXPECT_EQ(s.stream().next(s.now).kind, Kind::end);
}

TEST(SseStream, CompletionFramesEndWithDone) {
    Streamed s(R"({"prompt":"a","stream":true})", Dialect::oai_completion);
    s.put(token_out("h", 1));
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(finished(text::StopType::eos));
    const std::string facts =
        R"("created":1700000000,"model":"alpha","system_fingerprint":"b7-abc","object":"text_completion",)";
    const std::string bytes = s.drain();
    EXPECT_EQ(
        bytes.find(R"(data: {"choices":[{"text":"h","index":0,"logprobs":null,"finish_reason":null}],)" +
                   facts + R"("id":"chatcmpl-1"})" + "\n\n" +
                   R"(data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}],)" +
                   facts + R"("usage":)"),
        0U)
        << bytes;
    EXPECT_TRUE(bytes.ends_with("}\n\ndata: [DONE]\n\n"));
    EXPECT_EQ(s.last.kind, Kind::end);
}

std::string chat_event(const std::string& delta, const std::string& reason = "null",
                       const std::string& rest = "") {
    return R"(data: {"choices":[{"finish_reason":)" + reason + R"(,"index":0,"delta":)" + delta +
           R"(}],"created":1700000000,"id":"chatcmpl-1","model":"alpha","system_fingerprint":"b7-abc",)" +
           R"("object":"chat.completion.chunk")" + rest + "}\n\n";
}
const char* const kRole = R"({"role":"assistant","content":null})";

TEST(SseStream, ChatFrames) {
    Streamed s(kChat, Dialect::oai_chat);
    s.put(engine::Started{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(token_out("h", 1));
    s.put(token_out("", 2));
    s.put(token_out("i", 3));
    EXPECT_EQ(s.drain(),
              chat_event(kRole) + chat_event(R"({"content":"h"})") + chat_event(R"({"content":"i"})"))
        << "no chunk for empty text";
    s.put(finished(text::StopType::eos));
    const std::string end = s.drain();
    EXPECT_EQ(end.find(chat_event("{}", "\"stop\"", ",\"timings\":{\"cache_n\":1").substr(0, 200)), 0U)
        << end;
    EXPECT_TRUE(end.ends_with("data: [DONE]\n\n"));
}

TEST(SseStream, ChatRoleComesOnceAlsoWithoutText) {
    Streamed s(kChat, Dialect::oai_chat);
    engine::TokenOut half = token_out("", 1);
    half.piece.incomplete_utf8 = true;
    s.put(half);
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(token_out("é", 2));
    EXPECT_EQ(s.drain(), chat_event(kRole) + chat_event(R"({"content":"é"})"));

    Streamed silent(kChat, Dialect::oai_chat);
    silent.put(finished(text::StopType::eos));
    ASSERT_EQ(silent.stream().open(silent.now), SseStream::Opening::open);
    EXPECT_EQ(silent.drain().find(chat_event(kRole)), 0U);
}

TEST(SseStream, ProgressChunks) {
    Streamed s(kChat, Dialect::oai_chat);
    s.put(engine::Progress{Tokens{10}, Tokens{2}, Tokens{6}, 7.9});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(token_out("h", 1));
    EXPECT_EQ(
        s.drain(),
        chat_event(kRole, "null", R"(,"prompt_progress":{"total":10,"cache":2,"processed":6,"time_ms":7})") +
            chat_event(kRole) + chat_event(R"({"content":"h"})"));
}

TEST(SseStream, ParkAndResumeAsComments) {
    Streamed s(kNative);
    s.put(engine::ParkedNotice{sched::ParkReason::kv_full, 2});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open) << "P8.2: parked before the first token";
    EXPECT_EQ(s.drain(), ": preempted reason=kv_full ahead=2\n\n");
    s.put(engine::ResumedNotice{});
    s.put(token_out("h", 1));
    EXPECT_EQ(s.drain(), ": resumed\n\n" + native_event("h", 1));
}

TEST(SseStream, KeepalivesAimAtFixedDeadlines) {
    Streamed s(R"({"prompt":"a","stream":true,"sse_ping_interval":-1})");
    s.put(engine::ParkedNotice{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    (void)s.drain();
    const TimePoint parked_at = s.now;
    EXPECT_EQ(s.last.wake_at, parked_at + seconds{2});
    s.now = parked_at + milliseconds{1999};
    EXPECT_EQ(s.drain(), "");
    EXPECT_EQ(s.last.wake_at, parked_at + seconds{2}) << "a wake in between does not postpone it (P8.3)";
    s.now = parked_at + milliseconds{2300};  // late
    EXPECT_EQ(s.drain(), ": preempt-keepalive\n\n");
    EXPECT_EQ(s.last.wake_at, parked_at + seconds{4}) << "lateness does not add up";
    s.now = parked_at + milliseconds{9100};  // the client did not read for a while
    EXPECT_EQ(s.drain(), ": preempt-keepalive\n\n") << "what was missed is not made up for";
    EXPECT_EQ(s.last.wake_at, parked_at + seconds{10});
    s.put(engine::ResumedNotice{});
    EXPECT_EQ(s.drain(), ": resumed\n\n");
    EXPECT_EQ(s.last.wake_at, std::nullopt);
    s.now += seconds{100};
    EXPECT_EQ(s.drain(), "");
}

TEST(SseStream, KeepaliveOfOneDoesNotWaitForTheTrafficOfAnother) {
    Streamed s(R"({"prompt":["a","b"],"stream":true})", Dialect::native, 2);
    s.put(engine::Started{}, 0);
    s.put(engine::ParkedNotice{}, 1);
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    (void)s.drain();
    s.now += seconds{2};
    s.put(token_out("h", 1), 0);
    EXPECT_EQ(s.stream().next(s.now).bytes, ": preempt-keepalive\n\n");
    EXPECT_EQ(s.stream().next(s.now).bytes, native_event("h", 1));
}

TEST(SseStream, OneThatWaitsInTheQueueSaysSo) {
    std::optional<std::size_t> place = 3;
    Streamed s(R"({"prompt":"a","stream":true,"sse_ping_interval":-1,"response_fields":["stop"]})",
               Dialect::native, 1, [&] { return place; });
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::not_yet);
    const TimePoint opened_at = s.now;
    s.stream().open_waiting(s.now);
    EXPECT_EQ(s.drain(), ": queued ahead=3\n\n");
    EXPECT_EQ(s.last.wake_at, opened_at + seconds{2});
    s.now = opened_at + milliseconds{2100};
    place = 1;
    EXPECT_EQ(s.drain(), ": queue-keepalive ahead=1\n\n");
    EXPECT_EQ(s.last.wake_at, opened_at + seconds{4}) << "fixed deadlines (P8.3)";
    s.now = opened_at + milliseconds{4000};
    place.reset();
    EXPECT_EQ(s.drain(), ": queue-keepalive\n\n") << "a place that is not known is not made up";
    s.put(engine::Started{});
    EXPECT_EQ(s.drain(), "");
    EXPECT_EQ(s.last.wake_at, std::nullopt) << "it runs";
    s.now += seconds{60};
    s.put(token_out("h", 1));
    EXPECT_EQ(s.drain(), native_event("h", 1));
}

TEST(SseStream, OneOfSeveralPromptsThatWaitsKeepsTheStreamAlive) {
    Streamed s(R"({"prompt":["a","b"],"stream":true,"sse_ping_interval":-1})", Dialect::native, 2);
    s.put(engine::Started{}, 0);
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    EXPECT_EQ(s.drain(), "");
    s.now += seconds{2};
    EXPECT_EQ(s.drain(), ": queue-keepalive\n\n");
    s.put(engine::Started{}, 1);
    EXPECT_EQ(s.drain(), "");
    s.now += seconds{2};
    EXPECT_EQ(s.drain(), "");
}

TEST(SseStream, AnErrorOfOneThatWaitedIsAnEvent) {
    Streamed s(kNative);
    s.stream().open_waiting(s.now);
    EXPECT_EQ(s.drain(), ": queued\n\n");
    s.put(engine::Failed{make_error(ErrorKind::unavailable, "stopped")});
    const std::string bytes = s.drain();
    EXPECT_EQ(bytes.find("data: {\"error\":"), 0U) << bytes;
    EXPECT_EQ(s.last.kind, Kind::end);
}

TEST(SseStream, WaitingAsData) {
    Streamed s(R"({"messages":[{"role":"user","content":"a"}],"stream":true,"sse_notices":"data"})",
               Dialect::oai_chat);
    s.stream().open_waiting(s.now);
    EXPECT_EQ(s.drain(), chat_event("{}"));
    s.now += seconds{2};
    EXPECT_EQ(s.drain(), chat_event("{}"));
    s.put(token_out("h", 1));
    EXPECT_EQ(s.drain(), chat_event(kRole) + chat_event(R"({"content":"h"})"));
}

TEST(SseStream, NoticesAsData) {
    Streamed s(R"({"messages":[{"role":"user","content":"a"}],"stream":true,"sse_notices":"data"})",
               Dialect::oai_chat);
    s.put(engine::ParkedNotice{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    EXPECT_EQ(s.drain(), chat_event("{}"));
    s.now += seconds{2};
    EXPECT_EQ(s.drain(), chat_event("{}"));
    s.put(engine::ResumedNotice{});
    EXPECT_EQ(s.drain(), chat_event("{}"));

    Streamed native(R"({"prompt":"a","stream":true,"sse_notices":"data"})");
    native.put(engine::ParkedNotice{});
    ASSERT_EQ(native.stream().open(native.now), SseStream::Opening::open);
    EXPECT_EQ(native.drain(), R"(data: {"index":0,"content":"","tokens":[],"stop":false,"id_slot":-1,)"
                              R"("tokens_predicted":0,"tokens_evaluated":0})"
                              "\n\n");
}

TEST(SseStream, NoticesOff) {
    Streamed s(R"({"prompt":"a","stream":true,"sse_notices":"off","sse_ping_interval":-1})");
    s.put(engine::ParkedNotice{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.now += seconds{60};
    EXPECT_EQ(s.drain(), "");
    EXPECT_EQ(s.last.wake_at, std::nullopt);
}

TEST(SseStream, PingWhenNothingWasSent) {
    Streamed s(R"({"prompt":"a","stream":true,"sse_ping_interval":30})");
    s.put(engine::Started{});
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    (void)s.drain();
    EXPECT_EQ(s.last.wake_at, s.now + seconds{30});
    s.now += seconds{29};
    s.put(token_out("h", 1));
    (void)s.drain();
    s.now += seconds{29};
    EXPECT_EQ(s.drain(), "");
    s.now += seconds{1};
    EXPECT_EQ(s.drain(), ":\n\n");
    EXPECT_EQ(s.last.wake_at, s.now + seconds{30});
}

TEST(SseStream, AFailureEndsTheStreamWithoutDone) {
    Streamed s(kChat, Dialect::oai_chat);
    s.put(token_out("h", 1));
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(engine::Failed{make_error(ErrorKind::unavailable, "bye")});
    EXPECT_TRUE(s.drain().ends_with(
        "data: {\"error\":{\"code\":503,\"message\":\"bye\",\"type\":\"unavailable_error\"}}\n\n"));
    EXPECT_EQ(s.last.kind, Kind::end);
    EXPECT_TRUE(s.stream().error().has_value());
}

TEST(SseStream, AFailureOfOneOfTwoEndsBoth) {
    Streamed s(R"({"prompt":["a","b"],"stream":true})", Dialect::native, 2);
    s.put(token_out("h", 1), 0);
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    s.put(engine::Failed{make_error(ErrorKind::server, "x")}, 1);
    s.put(token_out("i", 2), 0);
    const std::string bytes = s.drain();
    EXPECT_TRUE(
        bytes.ends_with("data: {\"error\":{\"code\":500,\"message\":\"x\",\"type\":\"server_error\"}}\n\n"))
        << bytes;
    EXPECT_EQ(s.last.kind, Kind::end);
}

TEST(SseStream, TwoGenerationsTakeTurns) {
    Streamed s(R"({"prompt":["a","b"],"stream":true})", Dialect::native, 2);
    for (int i = 1; i <= 3; ++i) {
        s.put(token_out("p", i), 0);
        s.put(token_out("q", i), 1);
    }
    ASSERT_EQ(s.stream().open(s.now), SseStream::Opening::open);
    std::string order;
    while (true) {
        const auto chunk = s.stream().next(s.now);
        if (chunk.kind != Kind::data) {
            break;
        }
        order += chunk.bytes.find("\"content\":\"p\"") != std::string::npos ? 'p' : 'q';
    }
    EXPECT_EQ(order, "ppqpqq");
    s.put(finished(), 0);
    (void)s.drain();
    EXPECT_EQ(s.last.kind, Kind::wait) << "the stream ends with its last generation";
    s.put(finished(), 1);
    (void)s.drain();
    EXPECT_EQ(s.last.kind, Kind::end);
}

}  // namespace
}  // namespace kvalet::api
