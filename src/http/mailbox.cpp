#include "http/mailbox.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace kvalet::http {

bool Mailbox::post(std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    if (io_ == nullptr) {
        return false;
    }
    boost::asio::post(*io_, [&guard = guard_, work = std::move(work)] { guard.run("posted work", work); });
    return true;
}

void Mailbox::close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
}

}  // namespace kvalet::http
