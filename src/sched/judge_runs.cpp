// Whether those that come back, are let in and are fed are those that P1.6 and P4 ask for.
#include <algorithm>

#include "sched/judge.h"

namespace kvalet::sched {

namespace {

/// Cells held by and promised to residents that stay, and to those that came back or were let in so far.
class Promises {
  public:
    explicit Promises(Reading& r) : r_(r), view_(r.view) {
        const std::int64_t percent = r.policy.trigger == Trigger::watermark ? r.policy.low_pct : 100;
        limit_ = Cells{view_.pool.value() * percent / 100};
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Resident& s = view_.residents[i];
            if (here(i)) {
                sum_ += promise_of(s);
                ++company_;
            }
        }
    }

    /// P4.1, P4.4, and P1.2 for LOW: beside others with a margin and below LOW, alone into whatever it fits.
    void come_back(const Parked& p) {
        const Cells need = cells_to_come_back(p);
        const Tokens replay = r_.policy.replay_pays ? p.computed - p.stored : Tokens{0};
        const Cells margin = cells_of(std::max(r_.policy.resume_margin, replay));
        const bool fits = company_ == 0 ? need <= view_.pool : sum_ + need + margin <= limit_;
        r_.expect(fits, p.task, "comes back without room (P4.1, P1.2)");
        sum_ += need;
        ++company_;
    }

    /// The whole prompt, a first token for each of a family and the growth of all fit beside what is
    /// promised, or beside what it may displace.
    void let_in(const Waiting& w) {
        const Cells need = cells_of(w.n_prompt + Tokens{w.n_slots});
        Cells below{0};
        for (std::size_t i = 0; i < view_.residents.size(); ++i) {
            const Resident& s = view_.residents[i];
            const bool lower = here(i) && !s.family && r_.effective(s) < r_.effective(w);
            below += lower && r_.policy.victim == VictimOrder::priority ? promise_of(s) : Cells{0};
        }
        const auto n_running = static_cast<std::int64_t>(company_) + w.n_slots;
        const Cells growth{r_.policy.growth.value() * n_running};
        const bool fits = company_ == 0 || !r_.preempts() || sum_ + need + growth <= limit_ + below;
        r_.expect(fits, w.task, "let in without room");
        sum_ += need;
        ++company_;
    }

    [[nodiscard]] std::size_t company() const { return company_; }

  private:
    /// One that makes way because its reader is behind leaves last: its place is for the next step.
    [[nodiscard]] bool here(std::size_t i) const {
        const Park* park = r_.residents[i].park;
        return r_.stays(i) || (park != nullptr && park->reason == ParkReason::slow_reader);
    }
    /// What it holds and all that it is sure to need: the rest of what it has to compute, and a first token.
    [[nodiscard]] static Cells promise_of(const Resident& s) {
        return s.cells + cells_of(remaining(s) + s.draft + Tokens{s.length == s.n_prompt ? 1 : 0});
    }

    Reading& r_;
    const View& view_;
    Cells sum_;
    Cells limit_;
    std::size_t company_ = 0;
};

/// F6: nobody new goes before a parked one that is as important.
void judge_overtaking(Reading& r, const Waiting& w) {
    for (std::size_t i = 0; i < r.view.parked.size() && r.policy.preempt; ++i) {
        r.expect(!r.stays_parked(i) || r.effective(r.view.parked[i]) < r.effective(w), w.task,
                 "let in before a parked one that is as important (F6)");
    }
}

/// P1.6: a slot is taken from somebody who is strictly less important, or whom a client holds.
void judge_displacement(Reading& r, const Admit& a, const Waiting& w) {
    const bool pressure = r.policy.slot_pressure && r.policy.victim == VictimOrder::priority;
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Resident& s = r.view.residents[i];
        if (s.slot == a.slot) {
            r.expect(pressure && r.effective(s) < r.effective(w), w.task,
                     "takes the slot of one that is not less important (P1.6)");
        }
    }
    for (const Parked& p : r.view.parked) {
        if (p.slot == a.slot) {
            r.expect(p.held || (pressure && r.effective(p) < r.effective(w)), w.task,
                     "takes the slot of a parked one that is not less important (P1.6)");
        }
    }
}

/// Nobody comes back or is let in while others are parked for room.
void judge_comers(Reading& r) {
    const bool parks = std::any_of(r.plan.actions.begin(), r.plan.actions.end(), [](const Action& a) {
        const Park* park = std::get_if<Park>(&a);
        return park != nullptr && is_for_room(*park);
    });
    Promises promises(r);
    for (const Action& action : r.plan.actions) {
        if (const auto* resume = std::get_if<Resume>(&action)) {
            r.expect(!parks, resume->task, "comes back while others are parked for room");
            promises.come_back(*std::find_if(r.view.parked.begin(), r.view.parked.end(),
                                             [&](const Parked& p) { return p.task == resume->task; }));
        } else if (const auto* admit = std::get_if<Admit>(&action)) {
            const Waiting& w = *std::find_if(r.view.waiting.begin(), r.view.waiting.end(),
                                             [&](const Waiting& x) { return x.task == admit->task; });
            r.expect(!parks, w.task, "let in while others are parked for room");
            judge_overtaking(r, w);
            judge_displacement(r, *admit, w);
            promises.let_in(w);
        }
    }
    if (promises.company() > 0) {
        return;
    }
    // P4.4: the pool is empty after this plan; nobody may stand before it.
    std::size_t n_slots = r.view.idle.size();
    for (const Parked& p : r.view.parked) {
        n_slots += p.held && p.slot != kNoSlot ? 1U : 0U;
    }
    for (std::size_t i = 0; i < r.view.parked.size(); ++i) {
        const Parked& p = r.view.parked[i];
        r.expect(!r.stays_parked(i) || (p.slot == kNoSlot && n_slots == 0), p.task,
                 "parked while the pool is empty (P4.4)");
    }
    for (const Waiting& w : r.view.waiting) {
        const bool finds_slots = w.slot != kNoSlot && n_slots >= static_cast<std::size_t>(w.n_slots);
        r.expect(!finds_slots || !r.plan.actions.empty(), w.task, "waits while the pool is empty");
    }
}

void judge_yields(Reading& r) {
    for (std::size_t i = 0; i < r.view.parked.size(); ++i) {
        r.expect(!r.parked[i].yields || r.parked[i].slot_taken, r.view.parked[i].task,
                 "gives up its slot for nobody (P1.6)");
    }
}

/// Sums up who could compute and who does.
class Work {
  public:
    explicit Work(Reading& r) : r_(r) {}

    void add(TaskId task, bool decodes, Tokens rest, Tokens fed) {
        if (decodes) {
            decoded_ += fed;
            const bool fits = (!r_.view.unified || cells_of(rest) <= r_.view.pool - r_.used) &&
                              rest <= r_.view.n_batch - r_.fed;
            r_.expect(fed > Tokens{0} || !fits, task, "makes no token although there is room");
            no_room_ |= fed == Tokens{0} && rest <= r_.view.n_batch - r_.fed;
        } else {
            prompt_fed_ += fed;
            prompt_left_ += rest - fed;
        }
    }

    /// Prompts share a budget: not more, so that nobody's tokens stall, and not less.
    void end() const {
        const Tokens chunk = std::min(
            decoded_ > Tokens{0} ? std::min(r_.policy.prefill_chunk, r_.view.n_ubatch) : r_.view.n_ubatch,
            r_.view.n_batch - decoded_);
        const bool room = !r_.view.unified || r_.used < r_.view.pool;
        if (prompt_fed_ > std::max(Tokens{0}, chunk)) {
            r_.fault("more prompt tokens than a step takes");
        }
        if (prompt_left_ > Tokens{0} && prompt_fed_ < chunk && room) {
            r_.fault("a prompt stands still although there is room");
        }
        const bool stands_still = r_.fed == Tokens{0} && prompt_left_ > Tokens{0};
        if (!r_.policy.preempt && r_.view.unified && (no_room_ || stands_still)) {
            r_.fault("not everybody fails although the pool is full and preemption is off");
        }
    }

  private:
    Reading& r_;
    Tokens decoded_, prompt_fed_, prompt_left_;
    bool no_room_ = false;  // one that decodes got no cell
};

void judge_work(Reading& r) {
    Work work(r);
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Resident& s = r.view.residents[i];
        if (r.stays(i) && !s.blocked && remaining(s) > Tokens{0}) {
            work.add(s.task, phase_of(s) == Phase::decoding, remaining(s) + s.draft, r.residents[i].fed);
        }
    }
    for (std::size_t i = 0; i < r.view.parked.size(); ++i) {
        const Parked& p = r.view.parked[i];
        if (r.parked[i].back) {
            const bool decodes = p.stored == p.computed && p.computed >= p.n_prompt;
            work.add(p.task, decodes, p.length - p.stored + p.draft, r.parked[i].fed);
        }
    }
    for (std::size_t i = 0; i < r.view.waiting.size(); ++i) {
        const Waiting& w = r.view.waiting[i];
        if (r.waiting[i].back) {
            work.add(w.task, false, w.n_prompt - r.waiting[i].keep, r.waiting[i].fed);
        }
    }
    work.end();
}

/// llama-server-api 3.10: with preemption off everybody fails when one of them gets no cell, and only then.
void judge_failure(Reading& r) {
    const Cells room = r.view.pool - r.used;
    bool someone = false;
    bool decodes = false;
    for (std::size_t i = 0; i < r.view.residents.size(); ++i) {
        const Resident& s = r.view.residents[i];
        someone |= !s.blocked && remaining(s) > Tokens{0};
        decodes |= !s.blocked && phase_of(s) == Phase::decoding;
    }
    if (!someone) {
        r.fault("everybody fails although nobody computes");
    }
    Cells need{decodes ? 0 : 1};
    for (const Resident& s : r.view.residents) {
        need += !s.blocked && phase_of(s) == Phase::decoding ? cells_of(remaining(s) + s.draft) : Cells{0};
    }
    if (need <= room) {
        r.fault("everybody fails although there is room");
    }
}

}  // namespace

void judge_runs(Reading& r) {
    judge_comers(r);
    judge_yields(r);
    r.all_fail ? judge_failure(r) : judge_work(r);
}

}  // namespace kvalet::sched
