#include "unit/sched/world.h"

#include <algorithm>

#include "unit/sched/scene.h"

namespace kvalet::test {

World::World(sched::Policy policy, std::int64_t pool, std::int32_t n_slots)
    : policy_(policy), n_slots_(n_slots), holders_(static_cast<std::size_t>(n_slots), 0) {
    view_.pool = Cells{pool};
    view_.n_batch = Tokens{256};
    view_.n_ubatch = Tokens{64};
}

std::uint64_t World::ask(std::int64_t n_prompt, std::int64_t n_predict, std::int32_t priority) {
    Being b;
    b.n_prompt = b.length = n_prompt;
    b.n_predict = n_predict;
    b.priority = priority;
    b.came = steps_;
    all_[next_] = b;
    return next_++;
}

std::size_t World::n_waiting() const {
    return static_cast<std::size_t>(std::count_if(
        all_.begin(), all_.end(), [](const auto& x) { return x.second.state == Being::State::waiting; }));
}

void World::observe() {
    view_.step = static_cast<std::uint64_t>(steps_);
    view_.used = Cells{0};
    view_.parked_bytes = Bytes{0};
    view_.survivor = plan_.survivor;
    view_.residents.clear();
    view_.parked.clear();
    view_.idle.clear();
    view_.waiting.clear();
    for (std::int32_t slot = 0; slot < n_slots_; ++slot) {
        const std::uint64_t task = holders_[static_cast<std::size_t>(slot)];
        if (task == 0) {
            view_.idle.push_back(sched::IdleSlot{SlotId{slot}, Cells{0}, 0});
            continue;
        }
        const Being& b = all_[task];
        if (b.state == Being::State::resident) {
            sched::Resident r;
            r.task = TaskId{task};
            r.slot = SlotId{slot};
            r.priority = b.priority;
            r.parks = b.parks;
            r.passes = b.passes;
            r.n_prompt = Tokens{b.n_prompt};
            r.length = Tokens{b.length};
            r.computed = Tokens{b.computed};
            r.replay_end = Tokens{b.replay_end};
            r.run = Tokens{b.run};
            r.cells = Cells{b.computed};
            r.snapshot = Bytes{b.computed * kBytesPerToken};
            view_.used += r.cells;
            view_.residents.push_back(r);
        }
    }
    for (const auto& [task, b] : all_) {
        if (b.state == Being::State::parked) {
            sched::Parked p;
            p.task = TaskId{task};
            p.slot = b.slot;
            p.priority = b.priority;
            p.parks = b.parks;
            p.passes = b.passes;
            p.parked_at = b.parked_at;
            p.n_prompt = Tokens{b.n_prompt};
            p.length = Tokens{b.length};
            p.computed = Tokens{std::max(b.computed, b.replay_end)};
            p.stored = Tokens{b.swapped ? b.computed : 0};
            p.mode = b.swapped ? sched::ParkMode::swap : sched::ParkMode::drop;
            view_.parked_bytes += Bytes{p.stored.value() * kBytesPerToken};
            view_.parked.push_back(p);
        }
    }
    std::sort(view_.parked.begin(), view_.parked.end(),
              [](const auto& a, const auto& b) { return a.parked_at < b.parked_at; });
    observe_waiting();
}

void World::observe_waiting() {
    for (const auto& [task, b] : all_) {
        if (b.state == Being::State::waiting) {
            sched::Waiting w;
            w.task = TaskId{task};
            w.priority = b.priority;
            w.passes = b.passes;
            w.n_prompt = Tokens{b.n_prompt};
            view_.waiting.push_back(w);
        }
    }
    std::stable_sort(view_.waiting.begin(), view_.waiting.end(), [this](const auto& a, const auto& b) {
        return effective_priority(a, policy_.n_starved) > effective_priority(b, policy_.n_starved);
    });
    if (view_.waiting.size() > view_.idle.size() + 1) {
        view_.waiting.resize(view_.idle.size() + 1);
    }
    for (std::size_t i = 0; i < std::min(view_.waiting.size(), view_.idle.size()); ++i) {
        view_.waiting[i].slot = view_.idle[i].slot;
    }
}

bool World::step() {
    observe();
    plan_into(view_, policy_, plan_);
    std::string why;
    if (!valid(view_, policy_, plan_, &why) && wrong.empty()) {
        wrong = why + ": " + text_of(plan_);
    }
    for (const sched::Action& action : plan_.actions) {
        std::visit([this](const auto& a) { apply(a); }, action);
    }
    ++steps_;
    const bool alive = !view_.residents.empty() || !view_.parked.empty() || !view_.waiting.empty();
    if (alive && plan_.actions.empty() && wrong.empty()) {
        wrong = "nothing happens in step " + std::to_string(steps_);
    }
    return !plan_.actions.empty();
}

void World::apply(const sched::Park& a) {
    Being& b = all_[a.task.value()];
    b.state = Being::State::parked;
    b.swapped = a.mode == sched::ParkMode::swap;
    b.replay_end = b.swapped ? b.replay_end : std::max(b.computed, b.replay_end);
    b.computed = b.swapped ? b.computed : 0;
    ++b.parks;
    b.parked_at = ++parkings_;
    b.parked_since = steps_;
    if (a.gives_up_slot) {
        holders_[static_cast<std::size_t>(b.slot.value())] = 0;
        b.slot = kNoSlot;
    }
}

void World::apply(const sched::YieldSlot& a) {
    Being& b = all_[a.task.value()];
    holders_[static_cast<std::size_t>(b.slot.value())] = 0;
    b.slot = kNoSlot;
}

void World::apply(const sched::Resume& a) {
    Being& b = all_[a.task.value()];
    b.state = Being::State::resident;
    b.slot = a.slot;
    b.run = 0;
    b.longest_park = std::max(b.longest_park, steps_ - b.parked_since);
    holders_[static_cast<std::size_t>(a.slot.value())] = a.task.value();
}

void World::apply(const sched::Admit& a) {
    Being& b = all_[a.task.value()];
    b.state = Being::State::resident;
    b.slot = a.slot;
    holders_[static_cast<std::size_t>(a.slot.value())] = a.task.value();
    for (auto& [task, other] : all_) {
        const bool passed = other.state == Being::State::waiting || other.state == Being::State::parked;
        other.passes += passed && task < a.task.value() ? 1 : 0;
    }
}

void World::apply(const sched::Finish& a) {
    all_[a.task.value()].cut = true;
    end(a.task.value());
}

void World::apply(const sched::Feed& a) {
    Being& b = all_[a.task.value()];
    b.computed += a.n.value();
    if (b.computed < b.length) {
        return;
    }
    ++b.length;
    ++b.run;
    if (b.length - b.n_prompt >= b.n_predict || b.computed + 1 >= view_.pool.value()) {
        end(a.task.value());
    }
}

void World::end(std::uint64_t task) {
    Being& b = all_[task];
    b.state = Being::State::ended;
    b.went = steps_;
    if (b.slot != kNoSlot) {
        holders_[static_cast<std::size_t>(b.slot.value())] = 0;
    }
    ended_.insert(all_.extract(task));
}

}  // namespace kvalet::test
