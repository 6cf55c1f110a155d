// n > 1: one prompt, several generations. The parent computes the prompt; its children then share its cells
// and go on by themselves. A family is never parked (P2.2). The shared prompt is booked once, on the slot of
// the member that owns it; when that one ends, the next member inherits the entry, so that the ledger says
// what libllama really holds.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "engine/core.h"

namespace kvalet::engine {

void Core::take_in(Submit submit) {
    std::vector<std::unique_ptr<text::Generation>> generations = std::move(submit.request.child_generations);
    std::vector<std::shared_ptr<Outbox>> outboxes = std::move(submit.request.child_outboxes);
    auto parent = std::make_unique<Sequence>(submit.task, std::move(submit.request), clock.now_us());
    ++counters_.n_requests_total;
    for (std::size_t i = 0; i < generations.size(); ++i) {
        Request r;
        r.public_id = parent->request.public_id;
        r.prompt = parent->tokens;
        r.generation = std::move(generations[i]);
        r.outbox = std::move(outboxes[i]);
        r.priority = parent->priority;
        r.n_predict = parent->request.n_predict;
        r.stream = parent->request.stream;
        r.params_json = parent->request.params_json;
        auto child =
            std::make_unique<Sequence>(TaskId{shared->next_task.fetch_add(1)}, std::move(r), clock.now_us());
        child->family = submit.task;
        child->awaits_parent = true;
        parent->family = submit.task;
        parent->children.push_back(child.get());
        sequences_.emplace(child->task, std::move(child));
    }
    enter_queue(*parent);
    sequences_.emplace(submit.task, std::move(parent));
}

void Core::share_prompt(Sequence& parent, const std::vector<Sequence*>& children) {
    for (Sequence* child : children) {
        KVALET_ASSERT(parent.computed == parent.n_prompt, "a prompt is shared when it is just complete");
        backend.share(parent.slot, child->slot, parent.n_prompt);
        parent.owns_prompt = config.unified;
        child->awaits_parent = false;
        child->computed = parent.n_prompt;
        child->n_cached = parent.n_cached;
        child->n_prompt_done = parent.n_prompt_done;
        child->prompt_us = parent.prompt_us;
        // In split mode the cells were copied; in a unified pool they are shared and stay booked on the
        // parent.
        slot_at(child->slot).cells = config.unified ? Cells{0} : cells_of(parent.n_prompt);
        child->owns_prompt = !config.unified;
    }
}

Sequence* Core::heir_of(const Sequence& owner) {
    for (auto& [task, s] : sequences_) {
        if (s->family == owner.family && s->task != owner.task && s->resident() && !s->awaits_parent) {
            return s.get();
        }
    }
    return nullptr;
}

void Core::pass_on_prompt(Sequence& owner) {
    Sequence* heir = config.unified ? heir_of(owner) : nullptr;
    if (heir == nullptr) {
        return;  // the last one: all that its slot holds is its own
    }
    owner.owns_prompt = false;
    heir->owns_prompt = true;
    slot_at(owner.slot).cells -= cells_of(owner.n_prompt);
    slot_at(heir->slot).cells += cells_of(owner.n_prompt);
}

/// A parent that ends before its prompt is there takes its children along.
void Core::orphan(Sequence& parent, const Error& why) {
    const std::vector<Sequence*> children = std::move(parent.children);
    parent.children.clear();
    for (Sequence* child : children) {
        fail(*child, why);
    }
}

}  // namespace kvalet::engine
