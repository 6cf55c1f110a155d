#include "sim/checker.h"

#include "sim/random.h"

namespace kvalet::sim {

namespace {

constexpr double kMicrosPerMs = 1000.0;

}  // namespace

Checker::Checker(Report& report, Place& place, const engine::FakeBackend& backend, const ManualClock& clock,
                 std::int64_t budget_bytes)
    : report_(report), place_(place), backend_(backend), clock_(clock), budget_bytes_(budget_bytes) {}

Client* Checker::client_of(TaskId task) const {
    const auto i = static_cast<std::size_t>(task.value()) - 1;
    return task.value() == 0 || i >= clients_.size() ? nullptr : clients_[i];
}

void Checker::fault(const std::string& what) {
    if (report_.fault.empty()) {
        report_.fault = text_of(place_) + ": " + what;
    }
}

void Checker::see(TaskId task, std::uint64_t step) {
    Client* c = client_of(task);
    if (c == nullptr || !c->alive()) {
        return fault("task " + std::to_string(task.value()) + " lives although its client is gone (P8.5)");
    }
    if (c->seen_step == step + 1) {
        fault("task " + std::to_string(task.value()) + " is in two places");
    }
    c->seen_step = step + 1;
}

void Checker::check_cells(const sched::View& view) {
    if (view.used.value() != backend_.cells_used()) {
        fault("the ledger says " + std::to_string(view.used.value()) + " cells, the backend holds " +
              std::to_string(backend_.cells_used()));
    }
    if (view.unified && view.used > view.pool) {
        fault("more cells than the pool has");
    }
    if (budget_bytes_ != sched::kUnlimited && view.parked_bytes.value() > budget_bytes_) {
        fault("parked bytes above the budget (P3.5)");
    }
    if (view.parked.empty() && view.parked_bytes != Bytes{0}) {
        fault("parked bytes although nothing is parked (P3.5)");
    }
}

void Checker::check_sequences(const sched::View& view) {
    for (const sched::Resident& r : view.residents) {
        see(r.task, view.step);
        const Client* c = client_of(r.task);
        if (c != nullptr && !c->behind && (r.length - r.n_prompt).value() != c->n_tokens) {
            fault("task " + std::to_string(r.task.value()) + " has " +
                  std::to_string((r.length - r.n_prompt).value()) + " tokens, its client " +
                  std::to_string(c->n_tokens));
        }
    }
    for (const sched::Parked& p : view.parked) {
        see(p.task, view.step);
    }
    for (const sched::Waiting& w : view.waiting) {
        see(w.task, view.step);
    }
    const auto n_seen =
        static_cast<std::int64_t>(view.residents.size() + view.parked.size() + view.waiting.size());
    const bool all_waiting_seen = view.waiting.size() <= view.idle.size();
    if (n_seen > n_alive_ || (all_waiting_seen && n_seen < n_alive_ - n_behind_)) {
        fault(std::to_string(n_alive_) + " requests are alive, " + std::to_string(n_seen) +
              " are to be seen");
    }
}

void Checker::on_plan(const sched::View& view, const sched::Plan&) {
    place_.step = view.step;
    n_leaving_ = n_leaving_behind_ = 0;
    check_cells(view);
    check_sequences(view);
}

void Checker::on_park(const engine::ParkRecord& r) {
    ++(r.mode == sched::ParkMode::swap ? report_.n_swapped : report_.n_dropped);
    report_.hash = mixed(report_.hash, r.task.value() * 16 + static_cast<std::uint64_t>(r.reason) * 2 +
                                           static_cast<std::uint64_t>(r.mode));
    if (r.free_after - r.free_before != r.cells) {
        fault("a park of " + std::to_string(r.cells.value()) + " cells frees " +
              std::to_string((r.free_after - r.free_before).value()) + " (F16)");
    }
    const Client* c = client_of(r.task);
    if (c != nullptr && !c->ask.name.empty()) {
        report_.events.push_back("park " + c->ask.name + " " + std::string(name_of(r.mode)) + " " +
                                 std::string(name_of(r.reason)));
    }
}

void Checker::on_resume(const engine::ResumeRecord& r) {
    report_.hash = mixed(report_.hash, r.task.value() * 2 + static_cast<std::uint64_t>(r.mode));
    const Client* c = client_of(r.task);
    if (c == nullptr || !c->dawdler()) {
        report_.parked_us.add(static_cast<std::int64_t>(r.parked_ms * kMicrosPerMs));
    }
    if (c != nullptr && !c->ask.name.empty()) {
        report_.events.push_back("resume " + c->ask.name + " " + std::string(name_of(r.mode)));
    }
}

void Checker::on_kv_full(Cells used, Cells) {
    fault("the backend had no room although the ledger had, at " + std::to_string(used.value()) + " cells");
}

void Checker::after_step(const engine::Snapshot& s) {
    const auto n = static_cast<std::int64_t>(s.n_processing) + s.n_preempted + s.n_deferred;
    // A snapshot of an earlier step says nothing about now.
    const std::int64_t n_expected = n_alive_ + n_leaving_;
    if (s.step == place_.step + 1 && (n > n_expected || n < n_expected - n_behind_ - n_leaving_behind_)) {
        fault("the snapshot counts " + std::to_string(n) + " requests, " + std::to_string(n_expected) +
              " are alive");
    }
}

void Checker::at_end(const engine::Snapshot& s) {
    if (n_alive_ != 0) {
        fault(std::to_string(n_alive_) + " requests are left over");
    }
    if (s.parked_bytes != Bytes{0} || s.n_preempted != 0 || s.n_processing != 0 || s.n_deferred != 0) {
        fault("something is left in the engine");
    }
    if (s.used != s.used_idle || s.used.value() != backend_.cells_used()) {
        fault("cells are left behind");
    }
    const engine::Counters& c = s.counters;
    if (c.n_preempt_total != static_cast<std::uint64_t>(report_.n_swapped + report_.n_dropped) ||
        c.n_preempt_total != c.n_preempt_swap_total + c.n_preempt_recompute_total) {
        fault("the counters of parks do not add up (P6.1)");
    }
    report_.n_recomputed = static_cast<std::int64_t>(c.n_recompute_tokens_total);
    report_.parked_bytes_max = s.parked_bytes_max.value();
}

}  // namespace kvalet::sim
