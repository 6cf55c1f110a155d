// The real engine on the fake backend in virtual time, driven step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/fake_backend.h"
#include "engine/observer.h"

namespace kvalet::test {

/// One request as its client sees it.
struct Client {
    TaskId task;
    std::vector<Token> prompt;
    std::shared_ptr<engine::Outbox> outbox;
    std::vector<Token> tokens;
    std::vector<std::string> notices;  // "parked kv_full", "resumed"
    bool started = false;
    std::optional<engine::Finished> finished;
    std::optional<Error> failed;
    bool reads = true;  // false: its outbox is not emptied
};

struct Ask {
    std::int64_t n_prompt = 16;
    std::int64_t n_predict = 64;
    std::int32_t priority = 0;
    SlotId slot = kNoSlot;
    Token salt = 1;  // prompts of different salts share no token
    bool cache_prompt = true;
    bool progress = false;
};

class Harness : public engine::Observer {
  public:
    Harness(engine::FakeOptions backend, engine::EngineConfig config);

    Client& ask(const Ask& ask);
    /// Error of a submit that is refused.
    Result<TaskId> try_ask(const Ask& ask);
    /// Steps until nothing happens; asserts that it ends. Checks the ledger against the backend after every
    /// step.
    void run(std::int64_t max_steps = 1'000'000);
    bool step();
    void read_all();
    [[nodiscard]] engine::Snapshot snapshot() const { return *engine_.snapshot(); }

    /// What a client with this prompt gets when it is alone: n tokens by the fake backend's rule.
    [[nodiscard]] std::vector<Token> alone(const std::vector<Token>& prompt, std::int64_t n) const;
    /// Everything that was asked finished with the tokens it would have got alone, and nothing is left
    /// behind.
    void expect_all_exact() const;

    void on_park(const engine::ParkRecord& r) override { parks.push_back(r); }
    void on_resume(const engine::ResumeRecord& r) override { resumes.push_back(r); }

    ManualClock clock;
    engine::FakeBackend backend;
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<engine::ParkRecord> parks;
    std::vector<engine::ResumeRecord> resumes;

  private:
    engine::Request request_of(const Ask& ask, Client& client) const;
    engine::Engine engine_;

  public:
    engine::Engine& engine() { return engine_; }
};

/// The config of a preset.
engine::EngineConfig config_of(const char* preset);

}  // namespace kvalet::test
