// What came through the inbox, and what time brings.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "engine/core.h"
#include "engine/slot_file.h"

namespace kvalet::engine {

namespace {

Error not_found(const std::string& what) {
    return make_error(ErrorKind::not_found, what);
}
Error invalid(const std::string& what) {
    return make_error(ErrorKind::invalid_request, what);
}

ParkReply reply_of(const Sequence& s, Cells resident_cells) {
    ParkReply r;
    r.slot = s.slot;
    r.task = s.task;
    r.public_id = s.request.public_id;
    r.ever_parked = s.last_mode.has_value();
    r.mode = s.last_mode.value_or(sched::ParkMode::swap);
    r.n_cells = s.parked() ? cells_of(s.computed) : resident_cells;
    r.bytes = s.snapshot.size();
    r.is_preempted = s.parked();
    r.priority = s.priority;
    return r;
}

}  // namespace

void Core::drain_inbox() {
    commands_.clear();
    shared->inbox.take(commands_);
    for (Command& command : commands_) {
        if (auto* submit = std::get_if<Submit>(&command)) {
            take_in(std::move(*submit));
        } else if (const auto* c = std::get_if<Cancel>(&command)) {
            cancel(c->task);
        } else if (auto* file = std::get_if<SlotFileOrder>(&command)) {
            handle(*file);
        } else if (auto* order = std::get_if<ParkOrder>(&command)) {
            handle(*order);
        }
    }
    try_slot_files();
    end_park_times();
}

void Core::enter_queue(Sequence& s) {
    waiting_.push_back(&s);
    sort_queue();
}

void Core::sort_queue() {
    std::sort(waiting_.begin(), waiting_.end(), [this](const Sequence* a, const Sequence* b) {
        const auto pa = effective_priority(*a);
        const auto pb = effective_priority(*b);
        return pa != pb ? pa > pb : a->task < b->task;
    });
}

void Core::cancel(TaskId task) {
    // A family has one client: when that is gone, all of its members go, also those that outlived their
    // parent.
    std::vector<Sequence*> gone;
    for (auto& [id, s] : sequences_) {
        if (id == task || s->family == task) {
            gone.push_back(s.get());
        }
    }
    for (Sequence* s : gone) {
        s->children.clear();
        ++counters_.n_cancelled_total;
        leave_slot(*s, gone.size() == 1);
        bury(*s);
    }
}

void Core::handle(SlotFileOrder& order) {
    if (order.slot.value() < 0) {
        order.done(invalid("Invalid slot ID"));
        return;
    }
    order.slot = SlotId{order.slot.value() % config.n_slots};
    slot_files_.push_back(std::move(order));
}

void Core::try_slot_files() {
    for (SlotFileOrder& order : slot_files_) {
        Slot& slot = slot_at(order.slot);
        if (slot.sequence != nullptr) {
            continue;  // it waits until the slot is idle, as on llama-server
        }
        const Micros start_us = clock.now_us();
        Result<SlotFileReply> reply = [&]() -> Result<SlotFileReply> {
            switch (order.action) {
                case SlotFileAction::save:
                    return save_slot_file(backend, slot.id, slot.cache, order.path);
                case SlotFileAction::restore: {
                    empty_slot(slot);
                    // The file may not fit beside the other slots' caches: these are only caches.
                    for (Slot& other : slots_) {
                        if (config.unified && other.sequence == nullptr) {
                            empty_slot(other);
                        }
                    }
                    auto restored = restore_slot_file(backend, slot.id, slot.cache, order.path, free_cells());
                    slot.cells = cells_of(Tokens{static_cast<std::int64_t>(slot.cache.size())});
                    slot.last_used = ++uses_;
                    return restored;
                }
                case SlotFileAction::erase:
                    break;
            }
            SlotFileReply erased;
            erased.slot = slot.id;
            erased.n_tokens = Tokens{static_cast<std::int64_t>(slot.cache.size())};
            empty_slot(slot);
            return erased;
        }();
        if (reply.ok()) {
            reply->ms = static_cast<double>(clock.now_us() - start_us) / 1000.0;
        }
        publish(true);  // so that who asked finds what it is told
        order.done(std::move(reply));
        order.done = nullptr;
    }
    std::erase_if(slot_files_, [](const SlotFileOrder& o) { return o.done == nullptr; });
}

Sequence* Core::by_public_id(const std::string& id) {
    for (auto& [task, s] : sequences_) {
        if (s->request.public_id == id) {
            return s.get();
        }
    }
    return nullptr;
}

// Park, unpark, priority (P7):
//  1. An unknown id is 404; a slot that does not exist or is idle is 400.
//  2. A priority is set at once; the queue is put in order again.
//  3. Unpark: only of what a client parked; it then comes back by the usual order.
//  4. Park: a resident leaves with the next plan and the reply waits for that; one that is parked already is
//  refused, whoever
//     parked it; one that still waits for a slot holds nothing that could be parked.
void Core::handle(ParkOrder& order) {
    Sequence* s = nullptr;
    if (!order.public_id.empty()) {
        s = by_public_id(order.public_id);
        if (s == nullptr) {
            return order.done(not_found("No such request: it never was, or it has ended"));  // 1.
        }
    } else {
        if (order.slot.value() < 0 || order.slot.value() >= config.n_slots) {
            return order.done(invalid("Invalid slot ID"));
        }
        s = slot_at(order.slot).sequence;
        if (s == nullptr) {
            return order.done(invalid("The slot is idle: there is nothing to park or unpark"));
        }
    }
    if (order.action == ParkAction::priority) {  // 2.
        s->priority = order.priority;
        if (s->state() == SequenceState::waiting) {
            std::erase(waiting_, s);
            enter_queue(*s);
        }
    } else if (order.action == ParkAction::unpark) {  // 3.
        if (!s->held && !s->park_asked) {
            return order.done(invalid("The request is not parked by a client"));
        }
        s->held = s->park_asked = false;  // a park that was asked for just now is taken back
    } else {                              // 4.
        if (!config.policy.preempt || !config.unified) {
            return order.done(make_error(ErrorKind::not_supported,
                                         "Parking needs a unified KV pool and preemption switched on"));
        }
        if (s->parked() || s->park_asked) {
            return order.done(invalid("The request is parked already"));
        }
        if (s->family != TaskId{0}) {
            return order.done(invalid("A request with n > 1 cannot be parked"));
        }
        if (!s->resident()) {
            return order.done(invalid("The request still waits for a slot: it holds nothing to park"));
        }
        s->park_asked = true;
        order.slot = s->slot;
        order.public_id = s->request.public_id;
        park_orders_.push_back(std::move(order));
        return;
    }
    publish(true);  // so that who asked finds what it is told
    order.done(reply_of(*s, s->slot == kNoSlot ? Cells{0} : slot_at(s->slot).cells));
}

void Core::answer_park_orders() {
    for (ParkOrder& order : park_orders_) {
        Sequence* s = by_public_id(order.public_id);
        if (s == nullptr) {
            order.done(not_found("The request ended before it could be parked"));
        } else if (s->parked()) {
            order.done(reply_of(*s, Cells{0}));
        } else {
            s->park_asked = false;
            order.done(invalid("The request cannot be parked now"));
        }
    }
    park_orders_.clear();
}

void Core::end_park_times() {
    constexpr Micros kMicrosPerSecond = 1'000'000;
    for (Sequence* s : parked_) {
        const bool over = config.park_ttl_s > 0 &&
                          clock.now_us() - s->parked_since_us >= config.park_ttl_s * kMicrosPerSecond;
        // A server that drains waits for nobody's unpark.
        if (s->held && (over || shared->draining)) {
            s->held = false;
        }
    }
}

void Core::end_everything() {
    drain_inbox();
    while (!sequences_.empty()) {
        fail(*sequences_.begin()->second, make_error(ErrorKind::unavailable, "The server was stopped"));
    }
    for (SlotFileOrder& order : slot_files_) {
        order.done(make_error(ErrorKind::unavailable, "The server was stopped"));
    }
    slot_files_.clear();
    publish(true);
}

}  // namespace kvalet::engine
