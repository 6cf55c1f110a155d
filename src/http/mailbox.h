// The way onto the io thread for everybody else.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <mutex>

#include "http/guard.h"

namespace kvalet::http {

/// Outlives the server in the hands of exchanges that are still held somewhere. Without it an exchange would
/// have to own the io_context in whose queue it may itself be waiting: a cycle that nobody frees.
class Mailbox {
  public:
    /// Both must live until close() and until the queue of `io` has been run or destroyed.
    Mailbox(boost::asio::io_context& io, const Guard& guard) : io_(&io), guard_(guard) {}

    /// False when the server has stopped; then `work` is untouched. Any thread.
    bool post(std::function<void()>& work);
    bool post(std::function<void()>&& work) { return post(work); }
    void close();

    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

  private:
    std::mutex mutex_;
    boost::asio::io_context* io_;  // null once closed
    const Guard& guard_;
};

}  // namespace kvalet::http
