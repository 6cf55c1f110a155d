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

/// A request with several prompts or several generations has one id and several sequences.
std::vector<Sequence*> Core::sequences_of(const std::string& public_id) {
    std::vector<Sequence*> found;
    for (auto& [task, s] : sequences_) {
        if (s->request.public_id == public_id) {
            found.push_back(s.get());
        }
    }
    return found;
}

// Park, unpark, priority (P7):
//  1. An unknown id is 404; a slot that does not exist or is idle is 400.
//  2. A priority is set at once; the queue is put in order again.
//  3. Unpark: only of what a client parked; it then comes back by the usual order.
//  4. Park: residents leave with the next plan and the reply waits for that; see why_not_parkable().
// A request with several sequences is parked as a whole; the reply tells of the first one that is concerned.
void Core::handle(ParkOrder& order) {
    std::vector<Sequence*> named;
    if (!order.public_id.empty()) {
        named = sequences_of(order.public_id);
        if (named.empty()) {
            return order.done(not_found("No such request: it never was, or it has ended"));  // 1.
        }
    } else {
        if (order.slot.value() < 0 || order.slot.value() >= config.n_slots) {
            return order.done(invalid("Invalid slot ID"));
        }
        Sequence* s = slot_at(order.slot).sequence;
        if (s == nullptr) {
            return order.done(invalid("The slot is idle: there is nothing to park or unpark"));
        }
        named.push_back(s);
    }
    switch (order.action) {
        case ParkAction::priority:  // 2.
            for (Sequence* s : named) {
                s->priority = order.priority;
            }
            sort_queue();
            break;
        case ParkAction::unpark:  // 3.
            std::erase_if(named, [](const Sequence* s) { return !s->held && !s->park_asked; });
            if (named.empty()) {
                return order.done(invalid("The request is not parked by a client"));
            }
            for (Sequence* s : named) {
                s->held = s->park_asked = false;  // a park that was asked for just now is taken back
            }
            break;
        case ParkAction::park:  // 4.
            return ask_to_park(order, std::move(named));
    }
    publish(true);  // so that who asked finds what it is told
    const Sequence& first = *named.front();
    order.done(reply_of(first, first.slot == kNoSlot ? Cells{0} : slot_at(first.slot).cells));
}

// Why a sequence cannot be parked by a client (P7.4):
//  1. It is parked already, whoever parked it.
//  2. It is one of a family (P2.2).
//  3. It still waits for a slot and holds nothing that could be parked.
std::optional<Error> Core::why_not_parkable(const Sequence& s) const {
    if (s.parked() || s.park_asked) {  // 1.
        return invalid("The request is parked already");
    }
    if (s.family != TaskId{0}) {  // 2.
        return invalid("A request with n > 1 cannot be parked");
    }
    if (!s.resident()) {  // 3.
        return invalid("The request still waits for a slot: it holds nothing to park");
    }
    return std::nullopt;
}

void Core::ask_to_park(ParkOrder& order, std::vector<Sequence*> named) {
    if (!config.policy.preempt || !config.unified) {
        return order.done(make_error(ErrorKind::not_supported,
                                     "Parking needs a unified KV pool and preemption switched on"));
    }
    const std::optional<Error> why_not = why_not_parkable(*named.front());
    std::erase_if(named, [this](const Sequence* s) { return why_not_parkable(*s).has_value(); });
    if (named.empty()) {
        return order.done(*why_not);
    }
    for (Sequence* s : named) {
        s->park_asked = true;
    }
    order.task = named.front()->task;
    park_orders_.push_back(std::move(order));
}

void Core::answer_park_orders() {
    for (ParkOrder& order : park_orders_) {
        const auto found = sequences_.find(order.task);
        if (found == sequences_.end()) {
            order.done(not_found("The request ended before it could be parked"));
            continue;
        }
        Sequence& s = *found->second;
        if (s.parked()) {
            order.done(reply_of(s, Cells{0}));
        } else {
            s.park_asked = false;
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
