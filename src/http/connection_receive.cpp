// From bytes to an exchange.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <utility>

#include "http/connection.h"

namespace kvalet::http {

using std::chrono::steady_clock;

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

void Connection::process_input() {
    while (state_ == State::receiving) {
        if (!reader_) {
            // Empty lines in front of a request are harmless (RFC 9112 section 2.2) and no sign of life.
            in_.erase(0, in_.find_first_not_of("\r\n"));
            if (in_.empty()) {
                return;
            }
            reader_ = std::make_unique<RequestReader>(
                RequestReader::Limits{context_.config.max_header_bytes, context_.config.max_body_bytes});
            header_handled_ = false;
            enter_idle();  // anew: this one was heard from just now
            deadlines_.set(Deadline::receive, steady_clock::now() + context_.config.header_timeout);
            rearm_timer();
        }
        const RequestReader::Fed fed = reader_->feed(in_);
        in_.erase(0, fed.used);
        if (fed.progress == RequestReader::Progress::failed) {
            fail(reader_->error_status(), reader_->error_message());
            return;
        }
        if (!on_receive_progress()) {
            fail(503, "Too many requests are being received");
            return;
        }
        if (fed.progress == RequestReader::Progress::need_more) {
            return;
        }
        dispatch();
    }
}

/// False when the bodies of all connections together take too much memory.
bool Connection::on_receive_progress() {
    if (!reader_->header_done()) {
        return true;
    }
    const auto now = steady_clock::now();
    if (!header_handled_) {
        header_handled_ = true;
        leave_idle();
        body_deadline_ = now + context_.config.body_timeout;
        if (reader_->wants_continue() && reader_->body_bytes() == 0 && in_.empty()) {
            send_continue();
        }
    }
    deadlines_.set(Deadline::receive,
                   std::min<TimePoint>(now + context_.config.body_idle_timeout, body_deadline_));
    rearm_timer();
    const std::size_t bytes = reader_->body_bytes();
    if (!context_.body_budget.take(bytes - budget_taken_bytes_)) {
        return false;
    }
    budget_taken_bytes_ = bytes;
    return true;
}

/// Nothing is being written between two requests, so these few bytes mostly fit; what does not goes out
/// before the reply.
void Connection::send_continue() {
    ErrorCode ec;
    const std::size_t sent = socket_.write_some(boost::asio::buffer(kContinue.data(), kContinue.size()), ec);
    interim_ = kContinue.substr(sent);
}

void Connection::dispatch() {
    keep_alive_ = reader_->keep_alive();
    is_http_1_0_ = reader_->is_http_1_0();
    Request request = std::move(reader_->request());
    reader_.reset();
    request.remote = remote_;
    deadlines_.clear(Deadline::receive);
    const Router::Match match = context_.router.match(request);

    state_ = State::answering;
    id_ = ++context_.last_exchange;
    request_ = std::make_shared<const Request>(std::move(request));
    answer_ = std::make_shared<Answer>();
    replied_ = false;
    finishing_ = false;
    context_.open_exchanges.fetch_add(1, std::memory_order_relaxed);

    const auto exchange =
        std::make_shared<ExchangeImpl>(id_, request_, answer_, context_.mailbox, weak_from_this());
    const auto format_error = [this](int status, const std::string& message) {
        return context_.error_reply(status, message);
    };
    const bool ok = context_.guard.run("a request handler",
                                       [&] { context_.router.dispatch(match, exchange, format_error); });
    if (!ok && !exchange->sent()) {
        exchange->send(context_.error_reply(500, "Internal error"));
    }
    if (read_ended_) {
        // A pipelined request of a client that has closed meanwhile. Behind the handler's own answer, if it
        // gave one.
        context_.mailbox->post([self = shared_from_this(), id = id_] {
            if (self->is_answering(id)) {
                self->on_client_gone_while_answering();
            }
        });
    }
}

/// Answers what could not be understood, and closes: where the next request would begin is unknown.
void Connection::fail(int status, const std::string& message) {
    Reply reply = context_.error_reply(status, message);  // first, as the message may belong to the reader
    Request request = std::move(reader_->request());
    is_http_1_0_ = reader_->is_http_1_0();
    reader_.reset();
    request.remote = remote_;
    leave_idle();
    deadlines_.clear(Deadline::receive);
    in_ = {};
    discard_input_ = true;
    keep_alive_ = false;
    state_ = State::answering;
    id_ = 0;
    request_ = std::make_shared<const Request>(std::move(request));
    begin_reply(std::move(reply));
}

void Connection::next_request() {
    state_ = State::receiving;
    deadlines_.clear(Deadline::probe);
    deadlines_.set(Deadline::receive, steady_clock::now() + context_.config.keep_alive_timeout);
    rearm_timer();
    enter_idle();
    process_input();
    if (state_ == State::receiving && read_ended_) {
        close();
        return;
    }
    arm_read();
}

}  // namespace kvalet::http
