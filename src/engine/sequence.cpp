#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace kvalet::engine {

namespace {

constexpr double kMicrosPerMs = 1000.0;

}  // namespace

// Legal steps:
//   waiting     -> prefilling (admitted)                       | finished (cancelled)
//   prefilling  -> decoding (prompt done) | swapped | dropped  | finished
//   decoding    -> swapped | dropped                           | finished
//   swapped     -> prefilling | decoding (restored) | dropped (the restore failed, P3.2) | finished
//   dropped     -> prefilling (it will catch up)               | finished
//   finished    -> nothing
bool legal(SequenceState from, SequenceState to) {
    using enum SequenceState;
    if (from == finished) {
        return false;
    }
    if (to == finished) {
        return true;
    }
    switch (from) {
        case waiting:
            return to == prefilling;
        case prefilling:
            return to == decoding || to == swapped || to == dropped;
        case decoding:
            return to == swapped || to == dropped;
        case swapped:
            return to == prefilling || to == decoding || to == dropped;
        case dropped:
            return to == prefilling;
        case finished:
            break;
    }
    return false;
}

Sequence::Sequence(TaskId id, Request r, Micros now_us)
    : task(id), request(std::move(r)), submitted_us(now_us) {
    tokens = std::move(request.prompt);
    n_prompt = length();
    priority = request.priority;
}

void Sequence::become(SequenceState to) {
    KVALET_ASSERT(legal(state_, to), "a sequence took a step that its states do not allow");
    state_ = to;
}

bool Sequence::resident() const {
    return state_ == SequenceState::prefilling || state_ == SequenceState::decoding;
}

bool Sequence::parked() const {
    return state_ == SequenceState::swapped || state_ == SequenceState::dropped;
}

Micros Sequence::without_replay(Micros us) const {
    if (fed == Tokens{0}) {
        return replaying() ? 0 : us;
    }
    return us * (fed - fed_again).value() / fed.value();
}

Timings Sequence::timings(Micros now_us) const {
    Timings t;
    t.cache_n = n_cached;
    t.prompt_n = n_prompt_done;
    t.prompt_ms = static_cast<double>(prompt_us) / kMicrosPerMs;
    t.predicted_n = n_decoded();
    t.predicted_ms = first_token_us == 0 ? 0.0 : static_cast<double>(now_us - first_token_us) / kMicrosPerMs;
    return t;
}

}  // namespace kvalet::engine
