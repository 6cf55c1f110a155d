#include "http/stream.h"

#include <utility>

namespace kvalet::http {

namespace {

/// A Body that gives empty data so often in a row is broken; it is asked again at the next turn of the loop,
/// so that it harms nobody else.
constexpr int kMaxEmptyChunks = 16;

}  // namespace

Outgoing Stream::frame(std::string bytes, bool last) const {
    if (!chunked_) {
        return {{}, std::move(bytes), {}};
    }
    if (bytes.empty()) {
        return {{}, {}, last ? std::string{kLastChunk} : std::string{}};
    }
    std::string tail{kChunkTail};
    if (last) {
        tail += kLastChunk;
    }
    std::string head = chunk_head(bytes.size());
    return {std::move(head), std::move(bytes), std::move(tail)};
}

Stream::Step Stream::pull(TimePoint now) {
    for (int i = 0; i < kMaxEmptyChunks; ++i) {
        Body::Chunk chunk = body_->next(now);
        switch (chunk.kind) {
            case Body::Chunk::Kind::data:
                if (!chunk.bytes.empty()) {
                    return {Step::Kind::write, frame(std::move(chunk.bytes), false), std::nullopt};
                }
                break;
            case Body::Chunk::Kind::end:
                return {Step::Kind::finish, frame(std::move(chunk.bytes), true), std::nullopt};
            case Body::Chunk::Kind::wait:
                return {Step::Kind::wait, {}, chunk.wake_at};
        }
    }
    return {Step::Kind::wait, {}, now};
}

}  // namespace kvalet::http
