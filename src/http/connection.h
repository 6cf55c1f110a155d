// One connection: requests in, replies out, one after the other. io thread only.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/context.h"
#include "http/deadlines.h"
#include "http/exchange_impl.h"
#include "http/reply_writer.h"
#include "http/request_reader.h"
#include "http/stream.h"

namespace kvalet::http {

/// A connection is in one of four states:
///   receiving  between requests or in the middle of one
///   answering  a request was handed out; its reply is pending, being written or streamed. The socket is
///   still watched for
///              input: the client's close is an event, and bytes of further requests are kept, up to a limit
///   lingering  nothing more will be sent; waits shortly for the client's close, since closing with unread
///   input would make
///              the kernel reset the connection and the client lose the reply
///   closed
/// It is kept alive by the ConnectionSet until close(), and by the handlers under way.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    using Socket = boost::asio::generic::stream_protocol::socket;

    /// `remote`: what Request::remote will be.
    Connection(Context& context, Socket socket, std::string remote, bool is_unix);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void start();
    /// At once, in any state. Aborts the exchange that is being answered.
    void close();
    /// Says 503 as far as the socket takes it, and closes.
    void refuse();

    // From the exchange. An id that is not being answered any more is ignored.
    void on_reply(ExchangeId id, Reply reply);
    void on_wake(ExchangeId id);
    void on_abandoned(ExchangeId id);
    void on_call_at(ExchangeId id, TimePoint at, std::function<void()> work);

  private:
    enum class State : std::uint8_t { receiving, answering, lingering, closed };
    using ErrorCode = boost::system::error_code;

    // connection.cpp: the socket, the deadlines, the end
    void arm_read();
    void on_readable(const ErrorCode& ec);
    void take_input(std::size_t bytes);
    void on_end_of_input();
    void rearm_timer();
    void on_timer(const ErrorCode& ec);
    void on_due(Deadline which);
    void on_receive_timeout();
    void linger();
    void enter_idle();
    void leave_idle();

    // connection_receive.cpp: from bytes to an exchange
    void process_input();
    [[nodiscard]] bool on_receive_progress();
    void send_continue();
    void dispatch();
    void fail(int status, const std::string& message);
    void next_request();

    // connection_answer.cpp: from a reply to bytes
    void begin_reply(Reply reply);
    void write();
    void on_written(const ErrorCode& ec, std::size_t bytes);
    void on_write_timeout();
    void pull_stream();
    void finish_answer();
    void end_answer();
    void on_client_gone_while_answering();
    void watch_for_hangup();
    void probe_client();
    [[nodiscard]] bool is_answering(ExchangeId id) const;

    Context& context_;
    Socket socket_;
    const std::string remote_;
    const bool is_unix_;
    State state_ = State::receiving;

    std::string in_;  // received and not yet used
    bool read_armed_ = false;
    bool read_ended_ = false;     // the client has closed its side
    bool discard_input_ = false;  // nothing further will be understood; input is thrown away
    std::size_t discarded_bytes_ = 0;
    std::optional<ConnectionSet::IdlePlace> idle_place_;

    std::unique_ptr<RequestReader> reader_;  // only while a request is being received
    bool header_handled_ = false;
    TimePoint body_deadline_{};
    std::size_t budget_taken_bytes_ = 0;

    ExchangeId id_ = 0;  // of the exchange being answered; 0: none
    std::shared_ptr<const Request> request_;
    std::shared_ptr<Answer> answer_;
    bool keep_alive_ = false;
    bool is_http_1_0_ = false;
    bool replied_ = false;    // the head of the reply has been made
    bool finishing_ = false;  // what is being written is the last of the reply
    bool writing_ = false;
    bool hangup_watched_ = false;
    std::optional<Stream> stream_;
    std::function<void()> call_;  // at Deadline::call
    std::string interim_;         // the rest of a "100 Continue" that did not fit into the socket
    Outgoing out_;

    Deadlines deadlines_;
    TimePoint timer_at_ = Deadlines::kNever;
    boost::asio::steady_timer timer_;
};

}  // namespace kvalet::http
