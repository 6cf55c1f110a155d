#include "unit/sched/scene.h"

#include <gtest/gtest.h>
#include <sstream>

namespace kvalet::test {

namespace {

std::string text_of(const sched::EvictIdle& a) {
    return "evict " + std::to_string(a.slot.value());
}
std::string text_of(const sched::Park& a) {
    return "park " + std::to_string(a.task.value()) + " " + std::string(name_of(a.mode)) + " " +
           std::string(name_of(a.reason)) + (a.gives_up_slot ? " and its slot" : "");
}
std::string text_of(const sched::YieldSlot& a) {
    return "yield " + std::to_string(a.task.value());
}
std::string text_of(const sched::Resume& a) {
    return "resume " + std::to_string(a.task.value()) + " in " + std::to_string(a.slot.value());
}
std::string text_of(const sched::Admit& a) {
    return "admit " + std::to_string(a.task.value()) + " in " + std::to_string(a.slot.value()) +
           (a.keep > Tokens{0} ? " keep " + std::to_string(a.keep.value()) : "");
}
std::string text_of(const sched::Attach& a) {
    return "attach " + std::to_string(a.parent.value()) + " in " + std::to_string(a.slot.value());
}
std::string text_of(const sched::Finish& a) {
    return "finish " + std::to_string(a.task.value());
}
std::string text_of(const sched::FailAll&) {
    return "fail all";
}
std::string text_of(const sched::Feed& a) {
    return "feed " + std::to_string(a.task.value()) + " " + std::to_string(a.n.value());
}

}  // namespace

std::string text_of(const sched::Plan& plan) {
    std::string all;
    for (const sched::Action& action : plan.actions) {
        all += (all.empty() ? "" : ", ") + std::visit([](const auto& a) { return text_of(a); }, action);
    }
    return all;
}

std::string text_of(const sched::Plan& plan, const std::string& words) {
    std::string some;
    for (const sched::Action& action : plan.actions) {
        const std::string text = std::visit([](const auto& a) { return text_of(a); }, action);
        std::istringstream list(words);
        for (std::string word; list >> word;) {
            if (text.starts_with(word)) {
                some += (some.empty() ? "" : ", ") + text;
            }
        }
    }
    return some;
}

Scene::Scene(const char* preset, std::int64_t pool) {
    policy = sched::preset(preset).value();
    view.pool = Cells{pool};
    view.n_batch = Tokens{256};
    view.n_ubatch = Tokens{128};
}

Scene& Scene::add(sched::Resident r, const Change& change) {
    r.slot = next_slot();
    r.cells = cells_of(r.computed);
    r.snapshot = Bytes{r.computed.value() * kBytesPerToken};
    if (change) {
        change(r);
    }
    view.used += r.cells;
    view.residents.push_back(r);
    return *this;
}

Scene& Scene::decoding(std::uint64_t task, std::int64_t length, const Change& change) {
    sched::Resident r;
    r.task = TaskId{task};
    r.n_prompt = Tokens{length / 2};
    r.length = Tokens{length};
    r.computed = Tokens{length - 1};
    return add(r, change);
}

Scene& Scene::prefilling(std::uint64_t task, std::int64_t n_prompt, std::int64_t computed,
                         const Change& change) {
    sched::Resident r;
    r.task = TaskId{task};
    r.n_prompt = r.length = Tokens{n_prompt};
    r.computed = Tokens{computed};
    return add(r, change);
}

Scene& Scene::replaying(std::uint64_t task, std::int64_t length, std::int64_t computed,
                        const Change& change) {
    sched::Resident r;
    r.task = TaskId{task};
    r.n_prompt = Tokens{length / 2};
    r.length = Tokens{length};
    r.computed = Tokens{computed};
    r.replay_end = Tokens{length - 1};
    r.parks = 1;
    return add(r, change);
}

Scene& Scene::parked(std::uint64_t task, std::int64_t length, sched::ParkMode mode,
                     const std::function<void(sched::Parked&)>& change) {
    sched::Parked p;
    p.task = TaskId{task};
    p.slot = next_slot();
    p.parks = 1;
    p.parked_at = view.parked.size() + 1;
    p.n_prompt = Tokens{length / 2};
    p.length = Tokens{length};
    p.computed = Tokens{length - 1};
    p.stored = mode == sched::ParkMode::swap ? p.computed : Tokens{0};
    p.mode = mode;
    if (change) {
        change(p);
    }
    view.parked_bytes += Bytes{p.stored.value() * kBytesPerToken};
    view.parked.push_back(p);
    return *this;
}

Scene& Scene::waiting(std::uint64_t task, std::int64_t n_prompt,
                      const std::function<void(sched::Waiting&)>& change) {
    sched::Waiting w;
    w.task = TaskId{task};
    w.n_prompt = Tokens{n_prompt};
    if (view.waiting.size() < view.idle.size()) {
        w.slot = view.idle[view.waiting.size()].slot;
    }
    if (change) {
        change(w);
    }
    view.waiting.push_back(w);
    return *this;
}

Scene& Scene::idle(std::int64_t cached, std::uint64_t last_used) {
    view.idle.push_back(sched::IdleSlot{next_slot(), Cells{cached}, last_used});
    view.used += Cells{cached};
    return *this;
}

sched::Plan Scene::plan() const {
    sched::Plan made = sched::plan(view, policy);
    std::string why;
    EXPECT_TRUE(sched::valid(view, policy, made, &why)) << why << "\n  " << text_of(made);
    return made;
}

}  // namespace kvalet::test
