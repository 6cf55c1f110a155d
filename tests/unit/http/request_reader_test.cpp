#include "http/request_reader.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace kvalet::http {
namespace {

using Progress = RequestReader::Progress;
constexpr RequestReader::Limits kLimits{1024, 100};

/// Feeds as a connection does: what was not used is offered again.
Progress feed_in_pieces(RequestReader& reader, std::string_view bytes, std::size_t piece,
                        std::string* rest = nullptr) {
    std::string pending;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        pending += bytes.substr(at, piece);
        const auto fed = reader.feed(pending);
        pending.erase(0, fed.used);
        if (fed.progress != Progress::need_more) {
            if (rest != nullptr) {
                *rest = pending + std::string{bytes.substr(std::min(bytes.size(), at + piece))};
            }
            return fed.progress;
        }
    }
    return Progress::need_more;
}

int status_of(std::string_view bytes) {
    RequestReader reader(kLimits);
    const auto fed = reader.feed(bytes);
    return fed.progress == Progress::failed ? reader.error_status() : 0;
}

TEST(RequestReader, ReadsTheSameInPiecesOfAnySize) {
    const std::string bytes =
        "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Thing:  some value \r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-Trailer: t\r\n\r\nGET / HT";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        RequestReader reader(kLimits);
        std::string rest;
        ASSERT_EQ(feed_in_pieces(reader, bytes, piece, &rest), Progress::done)
            << piece << reader.error_message();
        EXPECT_EQ(reader.request().method, "POST");
        EXPECT_EQ(reader.request().target, "/a?b=c");
        EXPECT_EQ(reader.request().path, "/a");
        EXPECT_EQ(reader.request().query_value("b"), "c");
        EXPECT_EQ(reader.request().header("x-thing"), "some value");
        EXPECT_EQ(reader.request().header("X-Trailer"), "");
        EXPECT_EQ(reader.request().body, "hello world");
        EXPECT_EQ(rest, "GET / HT");
        EXPECT_TRUE(reader.keep_alive());
    }
}

TEST(RequestReader, LeavesThePipelinedRequestBehind) {
    RequestReader reader(kLimits);
    const std::string first = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
    const auto fed = reader.feed(first + "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(fed.progress, Progress::done);
    EXPECT_EQ(fed.used, first.size());
    EXPECT_EQ(reader.request().body, "ab");
}

TEST(RequestReader, RefusesWhatTwoParsersCouldReadInTwoWays) {
    const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
    EXPECT_EQ(status_of(post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 3, 3\r\n\r\nabc"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: +3\r\n\r\nabc"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: -1\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 0x3\r\n\r\nabc"), 400);
    EXPECT_EQ(status_of(post + "Content-Length: 99999999999999999999\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: xchunked\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding: identity\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(status_of(post + "Host: y\r\n\r\n"), 400);
    EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(RequestReader, RefusesAMalformedRequestLineAtOnce) {
    // None of these will ever send the empty line behind the headers.
    EXPECT_EQ(status_of("\x16\x03\x01\x02"), 400);
    EXPECT_EQ(status_of("GET /\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\n"), 400);
    EXPECT_EQ(status_of("GET  / HTTP/1.1\r\n"), 400);
    EXPECT_EQ(status_of("hello\r\n"), 400);
    EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET host HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nbroken header\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.9\r\n\r\n"), 400);
}

TEST(RequestReader, KeepsToItsLimits) {
    EXPECT_EQ(status_of("GET /" + std::string(2000, 'a')), 431);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(2000, 'a') + "\r\n\r\n"), 431);
    EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n"), 413);
    EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'a')), 0);
    const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string sixty = "3c\r\n" + std::string(60, 'a') + "\r\n";
    EXPECT_EQ(status_of(chunked + sixty), 0);
    EXPECT_EQ(status_of(chunked + sixty + sixty), 413);
    EXPECT_EQ(status_of(chunked + "ffffffffffffffff1\r\n"), 400);
    EXPECT_EQ(status_of(chunked + "0\r\n" + std::string(3000, 'a')), 400);
    EXPECT_EQ(status_of(chunked + "1;" + std::string(3000, 'a')), 400);
}

TEST(RequestReader, KnowsWhatWasMalformedInABodyInChunks) {
    const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(status_of(chunked + "zz\r\n"), 400);
    EXPECT_EQ(status_of(chunked + "1\r\nabc\r\n"), 400);
    EXPECT_EQ(status_of(chunked + "0\r\nContent-Length: 5\r\n\r\n"), 400);
}

TEST(RequestReader, ExpectationsAndPersistence) {
    RequestReader reader(kLimits);
    EXPECT_EQ(reader.feed("POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n").progress,
              Progress::need_more);
    EXPECT_TRUE(reader.header_done());
    EXPECT_TRUE(reader.wants_continue());
    EXPECT_EQ(status_of("POST / HTTP/1.1\r\nExpect: tea\r\n\r\n"), 417);

    RequestReader old(kLimits);
    EXPECT_EQ(old.feed("GET / HTTP/1.0\r\n\r\n").progress, Progress::done);
    EXPECT_TRUE(old.is_http_1_0());
    EXPECT_FALSE(old.keep_alive());
    RequestReader closing(kLimits);
    EXPECT_EQ(closing.feed("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").progress, Progress::done);
    EXPECT_FALSE(closing.keep_alive());
}

/// A valid message with a few bytes changed, put in or taken out.
std::string mutated(std::mt19937& random) {
    static const std::vector<std::string> kMessages{
        "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n6\r\n world\r\n0\r\nT: "
        "u\r\n\r\n",
        "GET http://h/a HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"};
    static const std::vector<std::string> kPieces{"\r\n",
                                                  "\r\n\r\n",
                                                  "\n",
                                                  "\r",
                                                  ":",
                                                  " ",
                                                  "0\r\n",
                                                  "Content-Length: 3\r\n",
                                                  "Transfer-Encoding: chunked\r\n",
                                                  "HTTP/1.1",
                                                  ",",
                                                  "ffffffffffffffff",
                                                  "\"",
                                                  "%",
                                                  "\xff",
                                                  "Host: y\r\n",
                                                  "-1"};
    std::string message = kMessages[random() % kMessages.size()];
    for (std::size_t changes = random() % 6; changes > 0; --changes) {
        const std::size_t at = random() % (message.size() + 1);
        switch (random() % 3) {
            case 0:
                message.insert(at, kPieces[random() % kPieces.size()]);
                break;
            case 1:
                message.erase(at, 1 + random() % 4);
                break;
            default:
                message.replace(at, 1, 1, static_cast<char>(random() % 256));
        }
    }
    return message;
}

TEST(RequestReader, IsCompleteOrNotWhereverTheMessageIsCut) {
    std::mt19937 random(20);
    std::size_t complete = 0;
    for (int i = 0; i < 5000; ++i) {
        const std::string message = mutated(random);
        RequestReader whole(kLimits);
        const auto fed = whole.feed(message);
        complete += fed.progress == Progress::done ? 1 : 0;
        for (const std::size_t piece : {std::size_t{1}, 2 + random() % 20}) {
            RequestReader cut(kLimits);
            std::string rest;
            const Progress progress = feed_in_pieces(cut, message, piece, &rest);
            // A message that is refused may be refused sooner when more of it is seen, but none is read in
            // two ways.
            ASSERT_EQ(progress == Progress::done, fed.progress == Progress::done) << message;
            if (progress == Progress::done) {
                ASSERT_EQ(cut.request().target, whole.request().target) << message;
                ASSERT_EQ(cut.request().body, whole.request().body) << message;
                ASSERT_EQ(rest, message.substr(fed.used)) << message;
            }
        }
    }
    EXPECT_GT(complete, 500U) << "the test must not have looked at nonsense only";
}

}  // namespace
}  // namespace kvalet::http
