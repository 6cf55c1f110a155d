#include "http/context.h"

#include <chrono>
#include <utility>
#include <vector>

#include "http/connection.h"
#include "http/reply_writer.h"

namespace kvalet::http {

void ConnectionSet::add(std::shared_ptr<Connection> connection) {
    Connection* const key = connection.get();
    open_.emplace(key, std::move(connection));
    size_.store(open_.size(), std::memory_order_relaxed);
}

void ConnectionSet::remove(Connection& connection) {
    open_.erase(&connection);
    size_.store(open_.size(), std::memory_order_relaxed);
}

bool ConnectionSet::close_longest_idle() {
    if (idle_.empty()) {
        return false;
    }
    idle_.front()->close();
    return true;
}

void ConnectionSet::close_idle() {
    while (close_longest_idle()) {
    }
}

void ConnectionSet::close_all() {
    while (!open_.empty()) {
        // close() takes the connection out of the map; the copy keeps it alive meanwhile.
        const std::shared_ptr<Connection> connection = open_.begin()->second;
        connection->close();
    }
}

Context::Context(ServerConfig given, Router routes)
    : config(std::move(given)),
      router(std::move(routes)),
      guard(config.log),
      body_budget(config.max_total_body_bytes),
      mailbox(std::make_shared<Mailbox>(io, guard)) {}

std::string_view Context::date() {
    const auto now = std::chrono::system_clock::now();
    const std::time_t second = std::chrono::system_clock::to_time_t(now);
    if (second != date_second_) {
        date_second_ = second;
        date_ = http_date(now);
    }
    return date_;
}

Reply Context::error_reply(int status, const std::string& message) const {
    Reply reply;
    if (config.format_error &&
        guard.run("format_error", [&] { reply = config.format_error(status, message); })) {
        return reply;
    }
    return {status, "text/plain; charset=utf-8", {}, message + "\n", nullptr};
}

}  // namespace kvalet::http
