#include "unit/engine/harness.h"

#include <gtest/gtest.h>

#include "support/argmax_generation.h"

namespace kvalet::test {

engine::EngineConfig config_of(const char* preset) {
    engine::EngineConfig c;
    c.policy = sched::preset(preset).value();
    return c;
}

Harness::Harness(engine::FakeOptions options, engine::EngineConfig config)
    : backend(options, &clock), engine_(std::move(config), backend, clock, this) {}

engine::Request Harness::request_of(const Ask& a, Client& client) const {
    for (std::int64_t i = 0; i < a.n_prompt; ++i) {
        client.prompt.push_back(static_cast<Token>((i * 7 + a.salt * 31) % 250 + a.salt % 5));
    }
    client.outbox = std::make_shared<engine::Outbox>();
    engine::Request r;
    r.public_id = "id-" + std::to_string(clients.size());
    r.prompt = client.prompt;
    r.generation = std::make_unique<ArgmaxGeneration>(a.n_predict);
    r.outbox = client.outbox;
    r.slot = a.slot;
    r.priority = a.priority;
    r.cache_prompt = a.cache_prompt;
    r.return_progress = a.progress;
    return r;
}

Client& Harness::ask(const Ask& a) {
    auto client = std::make_unique<Client>();
    auto task = engine_.submit(request_of(a, *client));
    EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().message);
    client->task = *task;
    clients.push_back(std::move(client));
    return *clients.back();
}

Result<TaskId> Harness::try_ask(const Ask& a) {
    Client client;
    return engine_.submit(request_of(a, client));
}

void Harness::read_all() {
    for (auto& c : clients) {
        while (c->reads) {
            auto event = c->outbox->try_pop();
            if (!event) {
                break;
            }
            EXPECT_FALSE(c->finished || c->failed) << "an event after the last one";
            if (auto* t = std::get_if<engine::TokenOut>(&*event)) {
                c->tokens.push_back(t->piece.token);
                EXPECT_EQ(t->n_decoded.value(), static_cast<std::int64_t>(c->tokens.size()));
            } else if (auto* p = std::get_if<engine::ParkedNotice>(&*event)) {
                c->notices.push_back("parked " + std::string(sched::name_of(p->reason)));
            } else if (std::holds_alternative<engine::ResumedNotice>(*event)) {
                c->notices.emplace_back("resumed");
            } else if (std::holds_alternative<engine::Started>(*event)) {
                c->started = true;
            } else if (auto* f = std::get_if<engine::Finished>(&*event)) {
                c->finished = *f;
            } else if (auto* e = std::get_if<engine::Failed>(&*event)) {
                c->failed = e->error;
            }
        }
    }
}

bool Harness::step() {
    const bool did = engine_.step();
    const engine::Snapshot s = snapshot();
    EXPECT_LE(backend.cells_used(), backend.caps().pool.value());
    EXPECT_TRUE(s.n_preempted > 0 || s.parked_bytes == Bytes{0}) << "P3.5: bytes of nobody";
    read_all();
    return did;
}

void Harness::run(std::int64_t max_steps) {
    while (step()) {
        ASSERT_GT(--max_steps, 0) << "it does not come to an end";
    }
    EXPECT_EQ(snapshot().used.value(), backend.cells_used()) << "the ledger is wrong";
}

std::vector<Token> Harness::alone(const std::vector<Token>& prompt, std::int64_t n) const {
    std::vector<Token> all = prompt;
    for (std::int64_t i = 0; i < n; ++i) {
        all.push_back(backend.next_token(all));
    }
    return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

void Harness::expect_all_exact() const {
    for (const auto& c : clients) {
        EXPECT_FALSE(c->failed.has_value()) << (c->failed ? c->failed->message : "");
        ASSERT_TRUE(c->finished.has_value()) << "task " << c->task.value() << " has not ended";
        EXPECT_EQ(c->tokens, alone(c->prompt, static_cast<std::int64_t>(c->tokens.size())));
        EXPECT_EQ(c->finished->n_decoded.value(), static_cast<std::int64_t>(c->tokens.size()));
        EXPECT_EQ(c->finished->timings.cache_n + c->finished->timings.prompt_n, c->finished->n_prompt);
    }
    const engine::Snapshot s = snapshot();
    EXPECT_EQ(s.parked_bytes.value(), 0);
    EXPECT_EQ(s.n_preempted, 0U);
    EXPECT_EQ(s.n_processing, 0U);
    EXPECT_EQ(s.n_deferred, 0U);
    EXPECT_EQ(s.counters.n_preempt_total,
              s.counters.n_preempt_swap_total + s.counters.n_preempt_recompute_total);
    EXPECT_EQ(s.counters.n_preempt_total, parks.size());
    EXPECT_EQ(s.counters.n_resume_total, resumes.size());
}

}  // namespace kvalet::test
