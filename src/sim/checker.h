// Asserts at every step what must hold whatever the schedule (P10): it sees each plan before it is carried
// out, each park and resume, and compares with what the backend really holds and with what clients got.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/fake_backend.h"
#include "engine/observer.h"
#include "engine/snapshot.h"
#include "sim/client.h"
#include "sim/report.h"
#include "sim/trouble.h"

namespace kvalet::sim {

class Checker final : public engine::Observer {
  public:
    Checker(Report& report, Place& place, const engine::FakeBackend& backend, const ManualClock& clock,
            std::int64_t budget_bytes);

    /// Clients by task; the engine numbers tasks from 1 on.
    void add(Client* client) { clients_.push_back(client); }
    [[nodiscard]] Client* client_of(TaskId task) const;
    void client_gone() { --n_alive_; }
    /// It ended its request itself: the engine hears of it with the next step.
    void client_left(bool behind) {
        --n_alive_;
        ++n_leaving_;
        n_leaving_behind_ += behind ? 1 : 0;
    }
    void client_came() { ++n_alive_; }
    /// It does not read, and so does not know whether its request has ended.
    void client_dawdles() { ++n_behind_; }
    void client_caught_up() { --n_behind_; }

    /// After a step and after the clients have read.
    void after_step(const engine::Snapshot& snapshot);
    /// When everybody is served: nothing is left behind.
    void at_end(const engine::Snapshot& snapshot);
    void fault(const std::string& what);

    void on_plan(const sched::View& view, const sched::Plan& plan) override;
    void on_park(const engine::ParkRecord& r) override;
    void on_resume(const engine::ResumeRecord& r) override;
    void on_kv_full(Cells used, Cells pool) override;

  private:
    void see(TaskId task, std::uint64_t step);
    void check_cells(const sched::View& view);
    void check_sequences(const sched::View& view);

    Report& report_;
    Place& place_;
    const engine::FakeBackend& backend_;
    const ManualClock& clock_;
    std::int64_t budget_bytes_;
    std::vector<Client*> clients_;
    std::int64_t n_alive_ = 0;   // as the clients know
    std::int64_t n_behind_ = 0;  // of these, may have ended
    std::int64_t n_leaving_ = 0;
    std::int64_t n_leaving_behind_ = 0;
};

}  // namespace kvalet::sim
