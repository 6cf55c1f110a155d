#include "http/exchange_impl.h"

#include <utility>

#include "core/assert.h"
#include "http/connection.h"

namespace kvalet::http {

void Answer::abort(const Guard& guard) {
    if (std::exchange(over_, true)) {
        return;
    }
    aborted_.store(true, std::memory_order_release);
    for (std::function<void()>& callback : std::exchange(callbacks_, {})) {
        guard.run("an abort callback", callback);
    }
}

void Answer::finish() {
    over_ = true;
    // The callbacks often hold the exchange: keeping them would keep it.
    std::exchange(callbacks_, {}).clear();
}

void Answer::add(std::function<void()> callback) {
    if (aborted()) {
        callback();
    } else if (!over_) {
        callbacks_.push_back(std::move(callback));
    }
}

ExchangeImpl::ExchangeImpl(ExchangeId id, std::shared_ptr<const Request> request,
                           std::shared_ptr<Answer> answer, std::shared_ptr<Mailbox> mailbox,
                           std::weak_ptr<Connection> connection)
    : id_(id),
      request_(std::move(request)),
      answer_(std::move(answer)),
      mailbox_(std::move(mailbox)),
      connection_(std::move(connection)) {}

ExchangeImpl::~ExchangeImpl() {
    if (sent()) {
        return;
    }
    mailbox_->post([connection = connection_, id = id_] {
        if (const auto alive = connection.lock()) {
            alive->on_abandoned(id);
        }
    });
}

void ExchangeImpl::send(Reply reply) {
    const bool sent_before = sent_.exchange(true, std::memory_order_acq_rel);
    KVALET_ASSERT(!sent_before, "a request was answered twice");
    mailbox_->post([connection = connection_, id = id_, reply = std::move(reply)]() mutable {
        if (const auto alive = connection.lock()) {
            alive->on_reply(id, std::move(reply));
        }
    });
}

void ExchangeImpl::wake() {
    if (wake_posted_.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    mailbox_->post([self = shared_from_this()] {
        // First the flag, then the look at the body: a wake in between posts once more rather than getting
        // lost. An exchange and no store, so that what the waker wrote before it found the flag set is seen
        // by next().
        self->wake_posted_.exchange(false, std::memory_order_acq_rel);
        if (const auto alive = self->connection_.lock()) {
            alive->on_wake(self->id_);
        }
    });
}

void ExchangeImpl::post(std::function<void()> work) {
    mailbox_->post(std::move(work));
}

void ExchangeImpl::call_at(TimePoint at, std::function<void()> work) {
    mailbox_->post([connection = connection_, id = id_, at, work = std::move(work)]() mutable {
        if (const auto alive = connection.lock()) {
            alive->on_call_at(id, at, std::move(work));
        }
    });
}

void ExchangeImpl::on_abort(std::function<void()> callback) {
    std::function<void()> registration = [answer = answer_, callback]() mutable {
        answer->add(std::move(callback));
    };
    if (!mailbox_->post(registration) && aborted()) {
        callback();
    }
}

}  // namespace kvalet::http
