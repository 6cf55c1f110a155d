// What the connections of one server share. io thread, but for the counters and the mailbox.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <ctime>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/exchange_impl.h"
#include "http/guard.h"
#include "http/mailbox.h"
#include "http/router.h"
#include "http/server.h"

namespace kvalet::http {

class Connection;

/// All open connections, and those that could be closed to make room, the longest idle first.
class ConnectionSet {
  public:
    using IdlePlace = std::list<Connection*>::iterator;

    void add(std::shared_ptr<Connection> connection);
    void remove(Connection& connection);
    [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }  // any thread

    [[nodiscard]] IdlePlace add_idle(Connection& connection) {
        return idle_.insert(idle_.end(), &connection);
    }
    void remove_idle(IdlePlace place) { idle_.erase(place); }

    /// Closes the connection that has been idle longest; false when there is none.
    bool close_longest_idle();
    void close_idle();
    void close_all();

  private:
    std::unordered_map<Connection*, std::shared_ptr<Connection>> open_;
    std::list<Connection*> idle_;
    std::atomic<std::size_t> size_ = 0;
};

/// Bytes of request bodies that all connections hold together.
class BodyBudget {
  public:
    explicit BodyBudget(std::size_t max_bytes) : left_(max_bytes) {}
    [[nodiscard]] bool take(std::size_t bytes) {
        if (bytes > left_) {
            return false;
        }
        left_ -= bytes;
        return true;
    }
    void give_back(std::size_t bytes) { left_ += bytes; }

  private:
    std::size_t left_;
};

struct Context {
    Context(ServerConfig given, Router routes);

    /// The value of the Date header, made once a second.
    [[nodiscard]] std::string_view date();
    [[nodiscard]] Reply error_reply(int status, const std::string& message) const;

    ServerConfig config;
    Router router;
    Guard guard;
    ConnectionSet connections;
    BodyBudget body_budget;
    bool draining = false;
    ExchangeId last_exchange = 0;
    std::atomic<std::size_t> open_exchanges = 0;
    /// Where sockets are read into. One for all: what is left of it is copied to the connection, so that an
    /// idle connection owns no buffer.
    std::array<char, std::size_t{64} << 10U> scratch;

    // Last, so that handlers waiting in its queue are destroyed while everything above still is.
    boost::asio::io_context io{1};
    std::shared_ptr<Mailbox> mailbox;

  private:
    std::time_t date_second_ = 0;
    std::string date_;
};

}  // namespace kvalet::http
