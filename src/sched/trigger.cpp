#include "sched/trigger.h"

#include <algorithm>

namespace kvalet::sched {

namespace {

Cells percent(Cells pool, int pct) {
    return Cells{pool.value() * pct / 100};
}

bool stays(std::span<const char> marks, std::size_t i) {
    return marks[i] == kStays;
}

}  // namespace

Cells step_reserve(const View& view, const Policy& policy, std::span<const char> marks) {
    Tokens decode{0};
    Tokens replay{0};
    Tokens prompt{0};
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        const Resident& r = view.residents[i];
        if (!stays(marks, i)) {
            continue;
        }
        switch (phase_of(r)) {
            case Phase::decoding:
                decode += r.blocked ? Tokens{0} : remaining(r) + r.draft;
                break;
            case Phase::replaying:  // the whole of it, so that the next step cannot give its cells away
                replay += remaining(r);
                break;
            case Phase::prefilling:
                prompt += r.blocked ? Tokens{0} : remaining(r);
                break;
        }
    }
    const Tokens chunk =
        std::min({policy.prefill_chunk, view.n_ubatch, std::max(Tokens{0}, view.n_batch - decode)});
    return cells_of(decode + replay + std::min(prompt, chunk));
}

Cells claim_of(const Resident& r) {
    // A prompt's first generated token needs a cell as well.
    return cells_of(remaining(r) + r.draft + (r.length == r.n_prompt ? Tokens{1} : Tokens{0}));
}

Cells claims(const View& view, std::span<const char> marks) {
    Cells sum{0};
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        if (stays(marks, i)) {
            sum += claim_of(view.residents[i]);
        }
    }
    return sum;
}

Cells park_limit(const View& view, const Policy& policy) {
    return policy.trigger == Trigger::watermark ? percent(view.pool, policy.high_pct) : view.pool;
}

Cells resume_limit(const View& view, const Policy& policy) {
    return policy.trigger == Trigger::watermark ? percent(view.pool, policy.low_pct) : view.pool;
}

}  // namespace kvalet::sched
