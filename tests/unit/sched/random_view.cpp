#include "unit/sched/random_view.h"

#include <algorithm>
#include <sstream>

namespace kvalet::test {

std::uint64_t Choices::next() {
    if (listed_) {
        return at_ < list_.size() ? list_[at_++] : 0;
    }
    state_ += 0x9E3779B97F4A7C15ULL;  // splitmix64
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

std::int64_t Choices::below(std::int64_t n) {
    return n <= 1 ? 0 : static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
}

namespace {

constexpr std::int64_t kMaxDraft = 3;

class Maker {
  public:
    explicit Maker(Choices& c) : c_(c), view_(s_.view), policy_(s_.policy) {}

    Situation make() {
        make_policy();
        const std::int64_t n_slots = n_slots_ = c_.between(1, 8);
        view_.step = 7;
        view_.unified = !c_.one_in(16);
        pool_ = c_.between(32, 700);
        view_.pool = Cells{pool_};
        view_.n_batch = Tokens{c_.between(n_slots * (1 + kMaxDraft), 256)};
        view_.n_ubatch = Tokens{c_.between(1, view_.n_batch.value())};
        left_ = view_.unified ? pool_ : 1'000'000;
        deal_ids(n_slots);
        for (std::int64_t i = 0; i < n_slots; ++i) {
            fill_slot(SlotId{static_cast<std::int32_t>(i)}, i + 1 < n_slots ? 2 : 1);
        }
        for (std::int64_t i = preempts() ? c_.below(4) : 0; i > 0; --i) {
            add_parked(kNoSlot);
        }
        make_budget();
        add_waiting();
        choose_survivor();
        return std::move(s_);
    }

  private:
    [[nodiscard]] bool preempts() const { return policy_.preempt && view_.unified; }

    void make_policy() {
        s_.preset = sched::kPresets[static_cast<std::size_t>(c_.below(std::size(sched::kPresets)))];
        policy_ = sched::preset(s_.preset).value();
        policy_.prefill_chunk = Tokens{c_.between(1, 64)};
        policy_.preempt = !c_.one_in(16);
        if (c_.one_in(4)) {
            policy_.high_pct = static_cast<int>(c_.between(50, 100));
            policy_.low_pct = static_cast<int>(c_.between(10, policy_.high_pct - 1));
        }
    }

    /// Ids in any order: a slot does not tell how old its sequence is.
    void deal_ids(std::int64_t n_slots) {
        for (std::int64_t id = 1; id <= 2 * n_slots + 12; ++id) {
            ids_.push_back(static_cast<std::uint64_t>(id));
        }
        for (std::size_t i = ids_.size(); i > 1; --i) {
            std::swap(ids_[i - 1], ids_[static_cast<std::size_t>(c_.below(static_cast<std::int64_t>(i)))]);
        }
    }
    TaskId id() {
        const TaskId task{ids_.back()};
        ids_.pop_back();
        return task;
    }

    std::int32_t priority() {
        return std::int32_t{c_.one_in(3) ? static_cast<std::int32_t>(c_.between(-2, 10)) : 0};
    }

    /// The last one may fill what is left, to have pools that are full to the brim.
    void fill_slot(SlotId slot, std::int64_t share) {
        const std::int64_t kind = c_.below(8);
        const std::int64_t most = std::min(left_, pool_ - 1) / share;
        if (kind < 5 && most >= 1) {
            add_resident(slot, most);
        } else if (kind == 5 && preempts()) {
            add_parked(slot);
        } else {
            const std::int64_t cached = c_.one_in(2) ? c_.between(0, most) : 0;
            view_.idle.push_back(
                sched::IdleSlot{slot, Cells{cached}, cached > 0 || c_.one_in(2) ? ++uses_ * 7 % 101 : 0});
            take(cached);
        }
    }

    void take(std::int64_t cells) {
        left_ -= cells;
        view_.used += Cells{cells};
    }

    void add_resident(SlotId slot, std::int64_t most) {
        sched::Resident r;
        r.task = id();
        r.slot = slot;
        r.priority = priority();
        r.parks = static_cast<std::int32_t>(c_.one_in(2) ? c_.below(8) : 0);
        r.passes = static_cast<std::int32_t>(c_.one_in(4) ? c_.below(6) : 0);
        const std::int64_t cells = c_.between(0, most);
        r.computed = Tokens{cells};
        r.cells = Cells{cells};
        const std::int64_t longest = std::max(cells + 1, pool_ - 1);
        switch (c_.below(4)) {
            case 0:  // in its prompt
                r.n_prompt = r.length = Tokens{c_.between(cells + 1, longest)};
                break;
            case 1:  // in a replay, of its prompt only or of generated tokens too
                r.length = Tokens{c_.between(cells + 1, longest)};
                r.n_prompt = Tokens{c_.between(1, r.length.value())};
                r.replay_end = Tokens{r.n_prompt == r.length ? c_.between(cells, r.length.value() - 1)
                                                             : r.length.value() - 1};
                r.parks += 1;
                break;
            default:
                r.length = Tokens{cells + 1};
                r.n_prompt = Tokens{c_.between(0, cells)};
                r.draft = Tokens{std::min(c_.one_in(4) ? c_.below(kMaxDraft + 1) : 0, pool_ - cells - 1)};
        }
        if (r.n_prompt == Tokens{0}) {
            r.n_prompt = Tokens{1};  // there is no empty prompt
            r.length = std::max(r.length, Tokens{1});
            r.draft = r.computed == Tokens{0} ? Tokens{0} : r.draft;
        }
        r.run = Tokens{c_.below(50)};
        r.snapshot = Bytes{16 + 100 * cells};
        r.can_swap = !c_.one_in(16);
        r.can_drop = !c_.one_in(16);
        r.family = c_.one_in(10);
        r.blocked = c_.one_in(12);
        r.park_forced = c_.one_in(16);
        r.park_asked = c_.one_in(24);
        take(cells);
        view_.residents.push_back(r);
    }

    void add_parked(SlotId slot) {
        sched::Parked p;
        p.task = id();
        p.slot = slot;
        p.priority = priority();
        p.parks = static_cast<std::int32_t>(c_.between(1, 7));
        p.passes = static_cast<std::int32_t>(c_.one_in(4) ? c_.below(6) : 0);
        p.parked_at = view_.parked.size() * 3 + 1;
        const std::int64_t longest = c_.one_in(8) ? pool_ + 5 : pool_ - 1;
        p.length = Tokens{c_.between(1, longest)};
        p.n_prompt = Tokens{c_.one_in(3) ? p.length.value() : c_.between(1, p.length.value())};
        p.computed = Tokens{p.n_prompt == p.length ? c_.below(p.length.value()) : p.length.value() - 1};
        p.mode = s_.preset != "recompute" && c_.one_in(2) ? sched::ParkMode::swap : sched::ParkMode::drop;
        // One that was parked in the middle of a replay has less stored than it once had computed.
        p.stored = Tokens{p.mode == sched::ParkMode::drop ? 0
                          : c_.one_in(6)                  ? c_.between(0, p.computed.value())
                                                          : p.computed.value()};
        p.held = c_.one_in(6);
        if (p.mode == sched::ParkMode::swap) {
            view_.parked_bytes += Bytes{16 + 100 * p.stored.value()};
        }
        view_.parked.push_back(p);
    }

    /// The preset's own, or one that is just enough for what is parked, or for a little more.
    void make_budget() {
        if (policy_.budget_bytes > 0 && c_.one_in(2)) {
            policy_.budget_bytes = view_.parked_bytes.value() + c_.below(60'000);
        }
    }

    void add_waiting() {
        const std::int64_t n = c_.below(5);
        std::vector<sched::Waiting> queue;
        for (std::int64_t i = 0; i < n; ++i) {
            sched::Waiting w;
            w.task = id();
            w.priority = priority();
            w.passes = static_cast<std::int32_t>(c_.one_in(3) ? c_.below(9) : 0);
            w.n_prompt = Tokens{c_.between(1, pool_ - 1)};
            w.n_slots = n_slots_ > 1 && c_.one_in(8) ? 2 : 1;
            queue.push_back(w);
        }
        const auto before = [this](const sched::Waiting& a, const sched::Waiting& b) {
            const auto pa = effective_priority(a, policy_.n_starved);
            const auto pb = effective_priority(b, policy_.n_starved);
            return pa != pb ? pa > pb : a.task < b.task;
        };
        std::sort(queue.begin(), queue.end(), before);
        for (std::size_t i = 0; i < queue.size(); ++i) {
            if (i < view_.idle.size()) {
                queue[i].slot = view_.idle[i].slot;
                queue[i].keep = Tokens{
                    c_.between(0, std::min(view_.idle[i].cached.value(), queue[i].n_prompt.value() - 1))};
            }
            view_.waiting.push_back(queue[i]);
            if (i >= view_.idle.size()) {
                return;
            }
        }
    }

    void choose_survivor() {
        if (policy_.victim != sched::VictimOrder::priority || !c_.one_in(2)) {
            return;
        }
        view_.survivor = TaskId{999};  // ended since
        if (!view_.residents.empty() && !c_.one_in(5)) {
            view_.survivor = view_
                                 .residents[static_cast<std::size_t>(
                                     c_.below(static_cast<std::int64_t>(view_.residents.size())))]
                                 .task;
        }
    }

    Choices& c_;
    Situation s_;
    sched::View& view_;
    sched::Policy& policy_;
    std::vector<std::uint64_t> ids_;
    std::int64_t n_slots_ = 0;
    std::int64_t pool_ = 0;
    std::int64_t left_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace

Situation random_situation(Choices& choices) {
    return Maker(choices).make();
}

std::string text_of(const Situation& s) {
    std::ostringstream out;
    const sched::View& v = s.view;
    out << s.preset << (s.policy.preempt ? "" : " off") << " budget " << s.policy.budget_bytes << " high "
        << s.policy.high_pct << " low " << s.policy.low_pct << " chunk " << s.policy.prefill_chunk.value()
        << "\n  pool " << v.pool.value() << " used " << v.used.value() << " batch " << v.n_batch.value()
        << " ubatch " << v.n_ubatch.value() << " held " << v.parked_bytes.value()
        << (v.unified ? "" : " split") << " survivor "
        << (v.survivor ? std::to_string(v.survivor->value()) : "none") << '\n';
    for (const sched::Resident& r : v.residents) {
        out << "  slot " << r.slot.value() << " task " << r.task.value() << " priority " << r.priority
            << " parks " << r.parks << " passes " << r.passes << " prompt " << r.n_prompt.value()
            << " length " << r.length.value() << " computed " << r.computed.value() << " replay_end "
            << r.replay_end.value() << " draft " << r.draft.value() << " run " << r.run.value()
            << (r.can_swap ? "" : " no-swap") << (r.can_drop ? "" : " no-drop") << (r.family ? " family" : "")
            << (r.blocked ? " blocked" : "") << (r.park_forced ? " forced" : "")
            << (r.park_asked ? " asked" : "") << '\n';
    }
    for (const sched::Parked& p : v.parked) {
        out << "  parked " << p.task.value() << " slot " << p.slot.value() << " priority " << p.priority
            << " parks " << p.parks << " passes " << p.passes << " prompt " << p.n_prompt.value()
            << " length " << p.length.value() << " computed " << p.computed.value() << " stored "
            << p.stored.value() << (p.held ? " held" : "") << '\n';
    }
    for (const sched::Waiting& w : v.waiting) {
        out << "  waiting " << w.task.value() << " priority " << w.priority << " passes " << w.passes
            << " prompt " << w.n_prompt.value() << " slot " << w.slot.value() << " keep " << w.keep.value()
            << " slots " << w.n_slots << '\n';
    }
    for (const sched::IdleSlot& i : v.idle) {
        out << "  idle " << i.slot.value() << " cached " << i.cached.value() << " used " << i.last_used
            << '\n';
    }
    return out.str();
}

}  // namespace kvalet::test
