// The Exchange that connections hand to handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "http/exchange.h"
#include "http/guard.h"
#include "http/mailbox.h"

namespace kvalet::http {

class Connection;

/// Which request of the server; never reused, so that a late word for an earlier request of a connection is
/// known as such.
using ExchangeId = std::uint64_t;

/// What connection and exchange both see of one answer. io thread, but for `aborted`.
class Answer {
  public:
    /// The client has gone: calls what was registered. Nothing when the answer is over already.
    void abort(const Guard& guard);
    /// The reply is complete: forgets what was registered.
    void finish();
    void add(std::function<void()> callback);
    [[nodiscard]] bool aborted() const { return aborted_.load(std::memory_order_acquire); }

  private:
    std::atomic<bool> aborted_ = false;
    bool over_ = false;
    std::vector<std::function<void()>> callbacks_;
};

class ExchangeImpl final : public Exchange, public std::enable_shared_from_this<ExchangeImpl> {
  public:
    ExchangeImpl(ExchangeId id, std::shared_ptr<const Request> request, std::shared_ptr<Answer> answer,
                 std::shared_ptr<Mailbox> mailbox, std::weak_ptr<Connection> connection);
    ~ExchangeImpl() override;

    [[nodiscard]] const Request& request() const override { return *request_; }
    void send(Reply reply) override;
    void wake() override;
    void post(std::function<void()> work) override;
    void call_at(TimePoint at, std::function<void()> work) override;
    void on_abort(std::function<void()> callback) override;
    [[nodiscard]] bool aborted() const override { return answer_->aborted(); }
    [[nodiscard]] bool sent() const { return sent_.load(std::memory_order_acquire); }

  private:
    const ExchangeId id_;
    const std::shared_ptr<const Request> request_;
    const std::shared_ptr<Answer> answer_;
    const std::shared_ptr<Mailbox> mailbox_;
    const std::weak_ptr<Connection> connection_;  // locked on the io thread only
    std::atomic<bool> sent_ = false;
    std::atomic<bool> wake_posted_ = false;
};

}  // namespace kvalet::http
