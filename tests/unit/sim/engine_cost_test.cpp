// P1.8 in the engine: what a step does before its plan is carried out (the inbox, the
// view, the plan) allocates nothing while the pool has room. Every allocation of this process is counted.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/observer.h"
#include "sim/client.h"
#include "support/counted_allocations.h"

namespace kvalet::test {
namespace {

/// Remembers how many allocations there were when the plan was made.
class Mark final : public engine::Observer {
  public:
    void on_plan(const sched::View& view, const sched::Plan&) override {
        at_plan = allocations();
        n_residents = view.residents.size();
    }
    std::size_t at_plan = 0;
    std::size_t n_residents = 0;
};

TEST(EngineCost, P1_8_UpToThePlanAStepWithRoomAllocatesNothing) {
    for (const std::string_view preset : sched::kPresets) {
        engine::FakeOptions options;
        options.pool = 10'000;
        options.n_slots = 16;
        ManualClock clock;
        engine::FakeBackend backend(options, &clock);
        engine::EngineConfig config;
        config.policy = sched::preset(preset).value();
        Mark mark;
        engine::Engine engine(config, backend, clock, &mark);
        std::vector<sim::Client> clients(16);
        for (std::size_t i = 0; i < clients.size(); ++i) {
            clients[i].number = i;
            clients[i].ask.n_prompt = 50;
            clients[i].ask.n_predict = 200;
            ASSERT_TRUE(engine.submit(request_of(clients[i], backend, 1, {})).ok());
        }
        for (int step = 0; step < 40; ++step) {
            engine.step();
        }
        for (int step = 0; step < 100; ++step) {
            const std::size_t before = allocations();
            ASSERT_TRUE(engine.step());
            ASSERT_EQ(mark.at_plan, before) << preset << " step " << step;
            ASSERT_EQ(mark.n_residents, 16U);
            ASSERT_GT(allocations(), before) << "events are made after it: the counter counts";
        }
    }
}

}  // namespace
}  // namespace kvalet::test
