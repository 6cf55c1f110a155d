#include "http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

namespace kvalet::http {

using std::chrono::steady_clock;

namespace {

/// How long to wait for the client's close after the last reply.
constexpr std::chrono::milliseconds kLingerTimeout{2'000};
/// How often to look whether a client has gone whose input is not being read.
constexpr std::chrono::milliseconds kProbeInterval{1'000};

}  // namespace

Connection::Connection(Context& context, Socket socket, std::string remote, bool is_unix)
    : context_(context),
      socket_(std::move(socket)),
      remote_(std::move(remote)),
      is_unix_(is_unix),
      timer_(context.io) {}

Connection::~Connection() = default;

void Connection::start() {
    deadlines_.set(Deadline::receive, steady_clock::now() + context_.config.header_timeout);
    enter_idle();
    arm_read();
    rearm_timer();
}

void Connection::close() {
    if (state_ == State::closed) {
        return;
    }
    const auto self = shared_from_this();  // the set's reference goes in here
    const bool was_answering = state_ == State::answering;
    state_ = State::closed;
    leave_idle();
    ErrorCode ignored;
    socket_.close(ignored);
    timer_.cancel();
    deadlines_.clear_all();
    in_ = {};
    reader_.reset();
    if (was_answering && answer_) {
        answer_->abort(context_.guard);
    }
    end_answer();
    context_.connections.remove(*this);
}

void Connection::refuse() {
    Reply reply = context_.error_reply(503, "Too many connections");
    if (context_.config.decorate) {
        Request unread;
        unread.remote = remote_;
        context_.guard.run("decorate", [&] { context_.config.decorate(unread, reply.headers); });
    }
    HeadParts parts{reply.status, Framing::length, reply.body.size(), false, false, context_.date()};
    const std::string bytes = make_head(parts, reply.content_type, reply.headers) + reply.body;
    ErrorCode ignored;
    socket_.write_some(boost::asio::buffer(bytes), ignored);
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
    state_ = State::closed;
}

/// Waits for input without a buffer, so that an idle connection costs none.
void Connection::arm_read() {
    const bool full =
        state_ == State::answering && !discard_input_ && in_.size() >= context_.config.max_pipelined_bytes;
    if (state_ == State::closed || read_armed_ || read_ended_) {
        return;
    }
    if (full) {
        deadlines_.set(Deadline::probe, steady_clock::now() + kProbeInterval);
        rearm_timer();
        return;
    }
    read_armed_ = true;
    socket_.async_wait(Socket::wait_read,
                       [self = shared_from_this()](const ErrorCode& ec) { self->on_readable(ec); });
}

void Connection::on_readable(const ErrorCode& ec) {
    read_armed_ = false;
    if (state_ == State::closed) {
        return;
    }
    ErrorCode failed = ec;
    std::size_t bytes = 0;
    if (!failed) {
        bytes = socket_.read_some(boost::asio::buffer(context_.scratch), failed);
    }
    if (failed == boost::asio::error::eof) {
        on_end_of_input();
    } else if (failed && failed != boost::asio::error::would_block &&
               failed != boost::asio::error::try_again) {
        close();
    } else if (!failed) {
        take_input(bytes);
    }
    arm_read();
}

void Connection::take_input(std::size_t bytes) {
    if (discard_input_) {
        // A client that goes on sending a body nobody wants is heard out so far as a body may go at all.
        discarded_bytes_ += bytes;
        if (discarded_bytes_ > context_.config.max_body_bytes) {
            close();
        }
        return;
    }
    in_.append(context_.scratch.data(), bytes);
    if (state_ == State::receiving) {
        process_input();
    }
}

void Connection::on_end_of_input() {
    read_ended_ = true;
    if (state_ == State::answering) {
        on_client_gone_while_answering();
    } else {
        // Between requests that is the normal end. In the middle of one there is nobody to hear an error:
        // whoever closes there has given up.
        close();
    }
}

/// The timer aims at the earliest deadline. One that moved into the future is not worth a system call: the
/// timer then fires early, finds nothing due and is set again.
void Connection::rearm_timer() {
    const TimePoint next = deadlines_.earliest();
    if (state_ == State::closed || next >= timer_at_) {
        return;
    }
    timer_at_ = next;
    timer_.expires_at(next);
    timer_.async_wait([self = shared_from_this()](const ErrorCode& ec) { self->on_timer(ec); });
}

void Connection::on_timer(const ErrorCode& ec) {
    if (ec || state_ == State::closed) {
        return;
    }
    timer_at_ = Deadlines::kNever;
    for (const Deadline due : deadlines_.take_due(steady_clock::now())) {
        if (state_ != State::closed) {
            on_due(due);
        }
    }
    rearm_timer();
}

void Connection::on_due(Deadline which) {
    switch (which) {
        case Deadline::receive:
            on_receive_timeout();
            break;
        case Deadline::write:
            on_write_timeout();
            break;
        case Deadline::linger:
            close();
            break;
        case Deadline::wake:
            pull_stream();
            break;
        case Deadline::probe:
            probe_client();
            break;
        case Deadline::call:
            context_.guard.run("a call at a time", std::exchange(call_, {}));
            break;
    }
}

void Connection::on_receive_timeout() {
    if (reader_) {
        fail(408, "The request was not complete in time");
    } else {
        close();
    }
}

void Connection::linger() {
    state_ = State::lingering;
    discard_input_ = true;
    in_ = {};
    if (read_ended_) {
        close();
        return;
    }
    ErrorCode ec;
    socket_.shutdown(Socket::shutdown_send, ec);
    if (ec) {
        close();
        return;
    }
    deadlines_.clear_all();
    deadlines_.set(Deadline::linger, steady_clock::now() + kLingerTimeout);
    rearm_timer();
    enter_idle();  // may be closed to make room
    arm_read();
}

void Connection::enter_idle() {
    leave_idle();
    idle_place_ = context_.connections.add_idle(*this);
}

void Connection::leave_idle() {
    if (idle_place_) {
        context_.connections.remove_idle(*idle_place_);
        idle_place_.reset();
    }
}

}  // namespace kvalet::http
