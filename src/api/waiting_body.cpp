#include "api/waiting_body.h"

#include <utility>

#include "api/keepalive_grid.h"
#include "core/assert.h"

namespace kvalet::api {

void WaitingBody::finish(std::string body) {
    const std::lock_guard lock(mutex_);
    KVALET_ASSERT(!body_, "a body was finished twice");
    body_ = std::move(body);
}

http::Body::Chunk WaitingBody::next(http::TimePoint now) {
    {
        const std::lock_guard lock(mutex_);
        if (body_) {
            return {Chunk::Kind::end, std::exchange(*body_, {}), std::nullopt};
        }
    }
    if (!next_space_) {
        next_space_ = now;
    }
    if (now < *next_space_) {
        return {Chunk::Kind::wait, {}, next_space_};
    }
    move_past(*next_space_, now, interval_);
    return {Chunk::Kind::data, " ", std::nullopt};
}

}  // namespace kvalet::api
