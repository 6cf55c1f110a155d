// The HTTP server: listeners, connections and one io thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "http/exchange.h"
#include "http/message.h"
#include "http/router.h"

namespace kvalet::http {

/// Above it a request gets 413.
constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 20U;
/// Bodies of all connections together, received or being answered; above it a request gets 503. Without it a
/// few thousand connections could fill the memory although each of them keeps to kMaxBodyBytes.
constexpr std::size_t kMaxTotalBodyBytes = std::size_t{1} << 30U;
/// Request line and headers; above it a request gets 431.
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
/// Open connections. One more closes the connection that has been idle longest; when none is idle it is
/// refused with 503.
constexpr std::size_t kMaxConnections = 4096;
/// Bytes of further requests that are kept while one is being answered; above it the socket is not read until
/// then.
constexpr std::size_t kMaxPipelinedBytes = std::size_t{64} << 10U;
/// Bytes that the kernel takes for a client that does not read, before the stream stops being pulled
/// (TCP_NOTSENT_LOWAT).
constexpr std::size_t kMaxUnsentBytes = std::size_t{64} << 10U;

struct ServerConfig {
    std::string host = "127.0.0.1";  // addresses or names separated by commas, or a path that ends in ".sock"
    int port = 8080;                 // 0: any free one, see Server::port(); unused with unix sockets
    bool reuse_port = false;         // SO_REUSEPORT

    std::size_t max_header_bytes = kMaxHeaderBytes;
    std::size_t max_body_bytes = kMaxBodyBytes;
    std::size_t max_total_body_bytes = kMaxTotalBodyBytes;
    std::size_t max_connections = kMaxConnections;  // lowered to what the limit of open files leaves
    std::size_t max_pipelined_bytes = kMaxPipelinedBytes;
    std::size_t max_unsent_bytes = kMaxUnsentBytes;

    /// From the first byte of a request to the end of its headers, and for a new connection that says
    /// nothing: then 408, or a silent close when nothing was said.
    std::chrono::milliseconds header_timeout{30'000};
    /// Between two pieces of a body; then 408.
    std::chrono::milliseconds body_idle_timeout{30'000};
    /// For a whole body, however it trickles; then 408.
    std::chrono::milliseconds body_timeout{900'000};
    /// Between two requests of a connection.
    std::chrono::milliseconds keep_alive_timeout{75'000};
    /// A write that makes no progress for so long ends the connection (--timeout).
    std::chrono::milliseconds write_timeout{3'600'000};
    /// The same for a streamed reply, whose sequence holds cells meanwhile (--slow-client-timeout); 0: as
    /// write_timeout.
    std::chrono::milliseconds slow_client_timeout{600'000};

    /// Adds headers to every reply, HEAD and errors included (Server, CORS, X-Request-Id). The request may be
    /// incomplete when it was malformed. io thread.
    std::function<void(const Request&, Headers&)> decorate;
    /// Makes the replies of this room: 400 404 405 408 413 417 431 500 503. Plain text when not set. io
    /// thread.
    ErrorFormatter format_error;
    /// What an operator should see: an exception out of a handler, no more file descriptors. io thread.
    std::function<void(const std::string&)> log;
};

/// Listens from the moment it exists, answers from run_in_thread() on.
class Server {
  public:
    /// Errors, each one line: address in use or not resolvable, no right to the port, a path that is no
    /// socket.
    [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ServerConfig config, Router router);

    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();  // stop()

    /// The port of the first TCP listener; 0 with unix sockets only.
    [[nodiscard]] int port() const;
    /// The bound addresses as for a log line: "http://127.0.0.1:8080, unix:/run/kvalet.sock".
    [[nodiscard]] std::string addresses() const;

    /// Starts the io thread, once.
    void run_in_thread();
    /// Closes the listeners and the idle connections; requests under way go on, each connection closes after
    /// its reply. Returns when the listeners are closed. Not to be called on the io thread.
    void stop_accepting();
    /// Ends everything: on_abort of every open exchange runs on the io thread, then the thread ends.
    /// Idempotent. Not to be called on the io thread.
    void stop();

    [[nodiscard]] std::size_t open_connections() const;  // any thread
    [[nodiscard]] std::size_t open_exchanges() const;    // requests not yet fully answered; any thread
    [[nodiscard]] std::size_t threads() const;           // 1 while running, else 0

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace kvalet::http
