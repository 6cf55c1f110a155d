#include "core/assert.h"
#include "sched/judge.h"

namespace kvalet::sched {

Reading::Reading(const View& v, const Policy& p, const Plan& a)
    : view(v), policy(p), plan(a), parked(v.parked.size()), used(v.used), held(v.parked_bytes) {
    KVALET_ASSERT(view.residents.size() <= kMaxSlots && view.idle.size() <= kMaxSlots &&
                      view.waiting.size() <= kMaxSlots + 1,
                  "a view of more slots than there can be");
    for (std::size_t i = 0; i < view.residents.size(); ++i) {
        residents[i] = Fate{};
    }
    for (std::size_t i = 0; i < view.waiting.size(); ++i) {
        waiting[i] = Fate{};
    }
    for (std::size_t i = 0; i < view.idle.size(); ++i) {
        idle[i] = IdleFate{};
    }
}

bool valid(const View& view, const Policy& policy, const Plan& plan, std::string* why) {
    Reading reading(view, policy, plan);
    judge_ledger(reading);
    if (reading.why.empty()) {  // the rules read what the ledger has understood
        judge_parks(reading);
        judge_runs(reading);
    }
    const bool good = reading.why.empty();
    if (why != nullptr) {
        *why = std::move(reading.why);
    }
    return good;
}

}  // namespace kvalet::sched
