#include "sim/run.h"

#include <memory>
#include <queue>
#include <utility>

#include "engine/engine.h"
#include "sim/broken_backend.h"
#include "sim/checker.h"
#include "sim/random.h"

namespace kvalet::sim {

namespace {

/// Small: the rows are computed for every token.
constexpr std::int32_t kVocab = 32;
constexpr std::int64_t kMicrosPerSecond = 1'000'000;
/// Steps in a row in which nobody gets a token: each parks, restores or replays. More are a wedge.
constexpr std::uint64_t kMaxIdleSteps = 100'000;
/// While nothing happens time goes in steps of this, and after so many (longer than any park time) never will
/// anything.
constexpr Micros kWait_us = kMicrosPerSecond;
constexpr int kMaxWaits = 1'000;
/// Nobody but a person reads these snapshots: fewer of them than a server makes.
constexpr Micros kPublish_us = 10 * kMicrosPerSecond;

engine::FakeOptions backend_of(const Machine& m) {
    engine::FakeOptions o;
    o.n_slots = m.n_slots;
    o.pool = m.pool;
    o.n_batch = m.n_batch;
    o.n_ubatch = m.n_ubatch;
    o.n_vocab = kVocab;
    o.bytes_per_token = m.bytes_per_token;
    o.costs.decode_us = m.decode_us;
    o.costs.decode_row_us = m.decode_row_us;
    o.costs.prompt_token_us = m.prompt_tokens_per_s > 0 ? kMicrosPerSecond / m.prompt_tokens_per_s : 0;
    o.costs.copy_fixed_us = m.copy_us;
    o.costs.copy_mib_us = m.copy_mib_per_s > 0 ? kMicrosPerSecond / m.copy_mib_per_s : 0;
    return o;
}

engine::EngineConfig config_of(const Options& o, const sched::Policy& policy) {
    engine::EngineConfig c;
    c.queue_max = std::numeric_limits<std::int32_t>::max();
    c.cache_ram_bytes = o.cache_ram_mib * sched::kMiB;
    c.preempt_every = o.preempt_every;
    c.publish_us = kPublish_us;
    c.policy = policy;
    if (o.prefill_chunk > 0) {
        c.policy.prefill_chunk = Tokens{o.prefill_chunk};
    }
    return c;
}

/// Something that a client does at a time of its own.
struct Happening {
    Micros at_us = 0;
    std::uint64_t nth = 0;  // order among equal times
    OrderKind kind = OrderKind::ask;
    std::uint64_t number = 0;  // of the request
    std::int32_t priority = 0;
    bool operator>(const Happening& o) const { return at_us != o.at_us ? at_us > o.at_us : nth > o.nth; }
};

class Run {
  public:
    Run(const Options& options, const std::string& preset, const sched::Policy& policy,
        const Scenario* scenario)
        : options_(options),
          scenario_(scenario),
          fake_(backend_of(options.machine), &clock_),
          broken_(fake_, options.fault, options.fault_at),
          checker_(report_, place_, fake_, clock_, policy.budget_bytes),
          engine_(config_of(options, policy), broken_, clock_, &checker_) {
        report_.preset = preset;
        report_.budget_mib = policy.budget_bytes < 0 ? -1 : policy.budget_bytes / sched::kMiB;
        place_ = Place{options.workload.seed, report_.preset.c_str(), report_.budget_mib, 0};
    }

    Report run() {
        const Watch watch(&place_);
        plan_arrivals();
        while (n_gone_ < n_requests_ && report_.fault.empty()) {
            let_happen();
            const bool did = engine_.step();
            read_all();
            checker_.after_step(*engine_.snapshot());
            if (!did) {
                wait_for_something();
                continue;
            }
            n_waits_ = 0;
            if (++steps_without_token_ > kMaxIdleSteps) {
                checker_.fault("nobody gets a token any more");
            }
        }
        engine_.step();  // who left is gone, and the snapshot is of now
        engine_.step();
        if (report_.fault.empty()) {
            checker_.at_end(*engine_.snapshot());
        }
        report_.time_us = clock_.now_us();
        report_.n_steps = place_.step;
        return std::move(report_);
    }

  private:
    void plan_arrivals();
    void let_happen();
    void happen(const Happening& h);
    void ask(std::uint64_t number);
    void note_unread(Client& c);
    void catch_up(Client& c);
    void leave(Client& c);
    void read_all();
    void read(Client& c);
    void book(Client& c, const engine::Event& event);
    void obey_ask(Client& c);
    void finished(Client& c);
    void wait_for_something();

    void plan(Micros at_us, OrderKind kind, std::uint64_t number, std::int32_t priority = 0) {
        happenings_.push(Happening{at_us, ++n_planned_, kind, number, priority});
    }
    [[nodiscard]] bool breaks(Fault fault) {
        return options_.fault == fault && ++n_breaks_ == options_.fault_at;
    }

    const Options& options_;
    const Scenario* scenario_;
    Report report_;
    Place place_;
    ManualClock clock_;
    engine::FakeBackend fake_;
    BrokenBackend broken_;
    Checker checker_;
    engine::Engine engine_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
    std::vector<std::unique_ptr<Client>> clients_;  // by number
    std::vector<Client*> dirty_;
    std::uint64_t n_planned_ = 0, n_breaks_ = 0, steps_without_token_ = 0;
    std::int64_t n_requests_ = 0, n_gone_ = 0, n_asked_ = 0;
    int n_waits_ = 0;  // in a row
};

void Run::plan_arrivals() {
    if (scenario_ != nullptr) {
        n_requests_ = static_cast<std::int64_t>(scenario_->asks.size());
        for (const Order& o : scenario_->orders) {
            plan(o.at_us, o.kind, o.request, o.priority);
        }
    } else {
        n_requests_ = options_.workload.n_requests;
        const std::int64_t n_first = options_.workload.arrivals_per_s > 0 ? 1 : options_.workload.n_clients;
        for (std::int64_t i = 0; i < std::min(n_first, n_requests_); ++i) {
            plan(0, OrderKind::ask, static_cast<std::uint64_t>(n_asked_++));
        }
    }
    clients_.resize(static_cast<std::size_t>(n_requests_));
}

void Run::let_happen() {
    while (!happenings_.empty() && happenings_.top().at_us <= clock_.now_us()) {
        const Happening h = happenings_.top();
        happenings_.pop();
        happen(h);
    }
}

void Run::happen(const Happening& h) {
    if (h.kind == OrderKind::ask) {
        return ask(h.number);
    }
    Client* c = clients_[h.number].get();
    if (c == nullptr || !c->alive()) {
        return;
    }
    const auto nothing = [](const Result<engine::ParkReply>&) {};
    switch (h.kind) {
        case OrderKind::leave:
            return leave(*c);
        case OrderKind::park:
            return engine_.park_request(std::to_string(h.number), nothing);
        case OrderKind::unpark:
            return engine_.unpark_request(std::to_string(h.number), nothing);
        case OrderKind::priority:
            return engine_.set_priority(std::to_string(h.number), h.priority, nothing);
        case OrderKind::read_on:
            c->reads = true;
            return note_unread(*c);
        case OrderKind::ask:
            break;
    }
}

void Run::ask(std::uint64_t number) {
    const std::int64_t rate = options_.workload.arrivals_per_s;
    if (scenario_ == nullptr && rate > 0 && n_asked_ < n_requests_) {
        Random random(options_.workload.seed ^ 0xA551U, number);
        plan(clock_.now_us() + random.wait(kMicrosPerSecond / rate), OrderKind::ask,
             static_cast<std::uint64_t>(n_asked_++));
    }
    auto client = std::make_unique<Client>();
    Client* c = client.get();
    c->number = number;
    c->ask = scenario_ != nullptr ? scenario_->asks[number] : ask_of(options_.workload, number);
    c->asked_us = clock_.now_us();
    clients_[number] = std::move(client);
    auto task = engine_.submit(request_of(*c, fake_, options_.workload.seed, [this, c] { note_unread(*c); }));
    if (!task.ok()) {
        return checker_.fault("refused: " + task.error().message);
    }
    c->task = *task;
    checker_.add(c);
    checker_.client_came();
}

void Run::note_unread(Client& c) {
    if (!c.dirty) {
        c.dirty = true;
        dirty_.push_back(&c);
    }
}

void Run::catch_up(Client& c) {
    if (std::exchange(c.behind, false)) {
        checker_.client_caught_up();
    }
}

void Run::leave(Client& c) {
    engine_.cancel(c.task);
    c.left = true;
    ++report_.n_left;
    if (!c.ask.name.empty()) {
        report_.events.push_back("leave " + c.ask.name);
    }
    checker_.client_left(c.behind);
    catch_up(c);
    finished(c);
}

void Run::finished(Client& c) {
    ++n_gone_;
    if (scenario_ == nullptr && options_.workload.arrivals_per_s == 0 && n_asked_ < n_requests_) {
        plan(clock_.now_us() + c.ask.thinks_us, OrderKind::ask, static_cast<std::uint64_t>(n_asked_++));
    }
}

void Run::read_all() {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {  // reading adds no more
        read(*dirty_[i]);
    }
    dirty_.clear();
}

void Run::read(Client& c) {
    c.dirty = false;
    while (c.reads || c.left) {
        auto event = c.outbox->try_pop();
        if (!event) {
            catch_up(c);
            break;
        }
        if (c.left) {
            continue;
        }
        const bool is_token = std::holds_alternative<engine::TokenOut>(*event);
        if ((is_token && breaks(Fault::lost_token)) || (engine::is_last(*event) && breaks(Fault::lost_end))) {
            continue;
        }
        book(c, *event);
        if (is_token && breaks(Fault::double_token)) {
            book(c, *event);
        }
    }
    if (c.ended || c.left) {
        c.outbox.reset();
    }
}

void Run::book(Client& c, const engine::Event& event) {
    const bool was_alive = c.alive();
    if (const std::string wrong = take(c, event, fake_); !wrong.empty()) {
        checker_.fault("task " + std::to_string(c.task.value()) + ": " + wrong);
    }
    const Micros now_us = clock_.now_us();
    if (const auto* t = std::get_if<engine::TokenOut>(&event)) {
        steps_without_token_ = 0;
        ++report_.n_tokens;
        if (!c.dawdler()) {  // what it waits for is itself
            (c.n_tokens == 1 ? report_.first_us : report_.gap_us)
                .add(now_us - (c.n_tokens == 1 ? c.asked_us : c.last_token_us));
        }
        c.last_token_us = now_us;
        report_.hash = mixed(report_.hash, c.task.value() << 8U ^ static_cast<std::uint64_t>(t->piece.token));
        obey_ask(c);
    } else if (was_alive && c.ended) {
        ++report_.n_completed;
        report_.hash = mixed(report_.hash, static_cast<std::uint64_t>(now_us));
        if (!c.ask.name.empty()) {
            report_.events.push_back("end " + c.ask.name + " " + std::to_string(c.n_tokens));
        }
        checker_.client_gone();
        finished(c);
    }
}

/// What the client does when it has so many tokens.
void Run::obey_ask(Client& c) {
    if (c.n_tokens == c.ask.held_at && !c.held) {
        c.held = true;
        const auto when_parked = [this, &c](const Result<engine::ParkReply>& reply) {
            if (reply.ok()) {  // else it has ended, or was parked for room just now
                plan(clock_.now_us() + c.ask.held_us, OrderKind::unpark, c.number);
            }
        };
        engine_.park_request(std::to_string(c.number), when_parked);
    }
    if (c.n_tokens == c.ask.dawdles_at) {
        c.reads = false;
        c.behind = true;
        checker_.client_dawdles();
        plan(clock_.now_us() + c.ask.dawdles_us, OrderKind::read_on, c.number);
    }
    if (c.ask.leaves_at >= 0 && c.n_tokens > c.ask.leaves_at && c.n_tokens < c.ask.n_predict) {
        leave(c);
    }
}

/// The engine has nothing to do: time goes on until somebody does something. Like the server it looks again
/// after a while, since a park time may have ended (P7.3).
void Run::wait_for_something() {
    if (n_gone_ == n_requests_) {
        return;
    }
    if (happenings_.empty() && ++n_waits_ > kMaxWaits) {
        return checker_.fault("nothing happens any more, and " + std::to_string(n_requests_ - n_gone_) +
                              " requests have not ended");
    }
    const Micros until_us = happenings_.empty() ? kWait_us : happenings_.top().at_us - clock_.now_us();
    clock_.advance_us(std::clamp<Micros>(until_us, 0, kWait_us));
}

}  // namespace

Report run(const Options& options, const std::string& preset, const sched::Policy& policy,
           const Scenario* scenario) {
    return Run(options, preset, policy, scenario).run();
}

}  // namespace kvalet::sim
