// From a reply to bytes.
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <poll.h>
#include <utility>

#include "http/connection.h"

namespace kvalet::http {

using std::chrono::steady_clock;

namespace {

/// How long a reply is still waited for after the client closed its side, in case it still reads.
constexpr std::chrono::milliseconds kHalfClosedGrace{2'000};

bool asks_to_close(const Headers& headers) {
    return std::any_of(headers.begin(), headers.end(), [](const Header& h) {
        return iequals(h.name, "Connection") && iequals(h.value, "close");
    });
}

bool has_poll_event(int descriptor, short event) {
    pollfd poll_for{descriptor, event, 0};
    return ::poll(&poll_for, 1, 0) > 0 && (poll_for.revents & event) != 0;
}

}  // namespace

bool Connection::is_answering(ExchangeId id) const {
    return state_ == State::answering && id_ == id;
}

void Connection::on_reply(ExchangeId id, Reply reply) {
    if (!is_answering(id) || replied_) {
        return;
    }
    if (answer_->aborted() && reply.stream) {
        close();  // a short reply may still find a reader, a stream was cancelled
        return;
    }
    begin_reply(std::move(reply));
}

void Connection::on_wake(ExchangeId id) {
    if (is_answering(id)) {
        pull_stream();
    }
}

void Connection::on_abandoned(ExchangeId id) {
    if (!is_answering(id) || replied_) {
        return;
    }
    if (answer_->aborted()) {
        close();
    } else {
        begin_reply(context_.error_reply(500, "The request was dropped without an answer"));
    }
}

void Connection::begin_reply(Reply reply) {
    replied_ = true;
    deadlines_.clear(Deadline::linger);  // of a client that closed its side; now the write decides
    if (context_.config.decorate) {
        context_.guard.run("decorate", [&] { context_.config.decorate(*request_, reply.headers); });
    }
    const bool no_body = request_->method == "HEAD" || status_has_no_body(reply.status);
    HeadParts parts{reply.status, Framing::length, reply.body.size(), false, is_http_1_0_, context_.date()};
    if (status_has_no_body(reply.status)) {
        parts.framing = Framing::none;
    } else if (reply.stream) {
        parts.framing = is_http_1_0_ ? Framing::until_close : Framing::chunked;
    }
    keep_alive_ = keep_alive_ && !context_.draining && !asks_to_close(reply.headers) &&
                  parts.framing != Framing::until_close && !(answer_ && answer_->aborted());
    parts.keep_alive = keep_alive_;
    std::string head = make_head(parts, reply.content_type, reply.headers);
    if (!interim_.empty()) {
        head.insert(0, std::exchange(interim_, {}));
    }
    if (no_body) {
        reply.body.clear();
        reply.stream.reset();
    }
    if (reply.stream) {
        stream_.emplace(std::move(reply.stream), parts.framing == Framing::chunked);
        reply.body.clear();
    }
    finishing_ = !stream_;
    out_ = Outgoing(std::move(head), std::move(reply.body), {});
    write();
}

void Connection::write() {
    writing_ = true;
    const ServerConfig& config = context_.config;
    deadlines_.set(Deadline::write,
                   steady_clock::now() + (stream_ ? config.slow_client_timeout : config.write_timeout));
    rearm_timer();
    std::array<boost::asio::const_buffer, 3> buffers;
    const auto left = out_.left();
    std::transform(left.begin(), left.end(), buffers.begin(),
                   [](std::string_view part) { return boost::asio::const_buffer(part.data(), part.size()); });
    socket_.async_write_some(buffers, [self = shared_from_this()](const ErrorCode& ec, std::size_t bytes) {
        self->on_written(ec, bytes);
    });
}

void Connection::on_written(const ErrorCode& ec, std::size_t bytes) {
    writing_ = false;
    if (state_ == State::closed) {
        return;
    }
    if (ec) {
        close();
        return;
    }
    out_.advance(bytes);
    if (!out_.empty()) {
        write();
        return;
    }
    deadlines_.clear(Deadline::write);
    out_ = {};
    if (finishing_) {
        finish_answer();
    } else {
        pull_stream();
    }
}

void Connection::on_write_timeout() {
    if (stream_ && context_.config.log) {
        const std::string who =
            "a client (" + remote_ + ") took nothing of its stream for too long and was cut off";
        context_.guard.run("log", [&] { context_.config.log(who); });
    }
    close();
}

void Connection::on_call_at(ExchangeId id, TimePoint at, std::function<void()> work) {
    if (is_answering(id) && !answer_->aborted()) {
        call_ = std::move(work);
        deadlines_.set(Deadline::call, at);
        rearm_timer();
    }
}

void Connection::pull_stream() {
    if (!stream_ || writing_ || finishing_) {
        return;
    }
    Stream::Step step;
    if (!context_.guard.run("a streamed body", [&] { step = stream_->pull(steady_clock::now()); })) {
        close();  // without the last chunk, so that the client knows
        return;
    }
    if (step.kind == Stream::Step::Kind::wait) {
        if (step.wake_at) {
            deadlines_.set(Deadline::wake, *step.wake_at);
            rearm_timer();
        } else {
            deadlines_.clear(Deadline::wake);
        }
        return;
    }
    deadlines_.clear(Deadline::wake);
    finishing_ = step.kind == Stream::Step::Kind::finish;
    out_ = std::move(step.out);
    if (out_.empty()) {
        finish_answer();
    } else {
        write();
    }
}

void Connection::finish_answer() {
    if (answer_) {
        answer_->finish();
    }
    end_answer();
    if (keep_alive_ && !context_.draining) {
        next_request();
    } else {
        linger();
    }
}

/// Lets go of everything that belonged to this one answer.
void Connection::end_answer() {
    if (answer_) {
        context_.open_exchanges.fetch_sub(1, std::memory_order_relaxed);
    }
    context_.body_budget.give_back(std::exchange(budget_taken_bytes_, 0));
    id_ = 0;
    answer_.reset();
    request_.reset();
    stream_.reset();
    interim_ = {};
    call_ = {};
    deadlines_.clear(Deadline::wake);
    deadlines_.clear(Deadline::call);
}

/// The client has closed its side. See the class comment of Exchange for what that means.
void Connection::on_client_gone_while_answering() {
    if (replied_ && !stream_) {
        return;  // written to its end, or to the error that shows that nobody reads
    }
    watch_for_hangup();
    if (is_unix_ && !has_poll_event(socket_.native_handle(), POLLHUP)) {
        return;  // only a half-close: a full one hangs up
    }
    if (stream_) {
        close();
        return;
    }
    answer_->abort(context_.guard);
    if (state_ == State::answering) {
        deadlines_.set(Deadline::linger, steady_clock::now() + kHalfClosedGrace);
        rearm_timer();
    }
}

/// With its input at an end, a connection hears of a reset or a full close only this way.
void Connection::watch_for_hangup() {
    if (std::exchange(hangup_watched_, true)) {
        return;
    }
    socket_.async_wait(Socket::wait_error, [self = shared_from_this()](const ErrorCode& ec) {
        if (!ec) {
            self->close();
        }
    });
}

/// Input is left in the kernel because too much was pipelined; whether there is an end behind it only poll()
/// can tell.
void Connection::probe_client() {
    if (state_ != State::answering) {
        return;
    }
    if (has_poll_event(socket_.native_handle(), POLLRDHUP)) {
        on_client_gone_while_answering();
    } else {
        arm_read();
    }
}

}  // namespace kvalet::http
