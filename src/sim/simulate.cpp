#include "sim/simulate.h"

#include <algorithm>
#include <atomic>
#include <iomanip>
#include <optional>
#include <thread>
#include <utility>

#include "sched/view.h"
#include "sim/random.h"
#include "sim/run.h"

namespace kvalet::sim {

namespace {

struct Job {
    std::string preset;
    sched::Policy policy;
};

/// P5: `swap` and `recompute` are what they are by their budget; the others are run with each.
std::vector<Job> jobs_of(const Options& o) {
    std::vector<Job> jobs;
    for (const std::string& name : o.presets) {
        const sched::Policy policy = sched::preset(name).value();
        if (policy.budget_bytes <= 0) {
            jobs.push_back({name, policy});
            continue;
        }
        for (const std::int64_t mib : o.budgets_mib) {
            jobs.push_back({name, policy});
            jobs.back().policy.budget_bytes = mib < 0 ? sched::kUnlimited : mib * sched::kMiB;
        }
    }
    return jobs;
}

void set_numbers(sched::Policy& policy, const PolicyNumbers& n) {
    policy.resume_margin = n.margin >= 0 ? Tokens{n.margin} : policy.resume_margin;
    policy.min_run = n.min_run >= 0 ? Tokens{n.min_run} : policy.min_run;
    policy.prefill_chunk = n.chunk > 0 ? Tokens{n.chunk} : policy.prefill_chunk;
    policy.high_pct = n.high >= 0 ? static_cast<int>(n.high) : policy.high_pct;
    policy.low_pct = n.low >= 0 ? static_cast<int>(n.low) : policy.low_pct;
    policy.budget_bytes = n.budget_kib >= 0 ? n.budget_kib * 1024 : policy.budget_bytes;
}

std::string trouble_with(const Options& o) {
    const Machine& m = o.machine;
    const WorkloadOptions& w = o.workload;
    for (const std::string& name : o.presets) {
        if (!sched::preset(name)) {
            return "there is no preset " + name;
        }
    }
    if (m.n_slots < 1 || m.n_slots > static_cast<std::int32_t>(sched::kMaxSlots)) {
        return "slots: between 1 and " + std::to_string(sched::kMaxSlots);
    }
    if (m.pool < 2 || m.n_batch < m.n_slots || m.n_ubatch < 1 || m.n_ubatch > m.n_batch) {
        return "the pool holds two cells at least, a batch a token for each slot, and a micro-batch fits the "
               "batch";
    }
    if (m.bytes_per_token < static_cast<std::int64_t>(sizeof(Token))) {
        return "a token takes 4 bytes at least";
    }
    if (o.scenario.empty() &&
        (w.prompt_low < 1 || w.prompt_high < w.prompt_low || w.predict_low < 1 ||
         w.predict_high < w.predict_low || w.prompt_high >= m.pool || w.n_clients < 1)) {
        return "lengths: at least 1, low before high, prompts shorter than the pool; and one client at least";
    }
    return {};
}

std::vector<Report> run_all(const Options& o, const std::vector<Job>& jobs, const Scenario* scenario) {
    std::vector<Report> reports(jobs.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < jobs.size(); i = next++) {
            reports[i] = run(o, jobs[i].preset, jobs[i].policy, scenario);
        }
    };
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t n = std::min(jobs.size(), static_cast<std::size_t>(o.threads > 0 ? o.threads : cores));
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < n; ++i) {
        helpers.emplace_back(work);
    }
    work();
    helpers.clear();
    return reports;
}

bool as_expected(const Scenario& scenario, const Report& report, std::ostream& err) {
    if (scenario.expected.empty() || scenario.expected == report.events) {
        return true;
    }
    err << "kvalet simulate: another course than expected; this is what happened:\n";
    for (std::size_t i = 0; i < std::max(report.events.size(), scenario.expected.size()); ++i) {
        const std::string got = i < report.events.size() ? report.events[i] : "(nothing)";
        const std::string wanted = i < scenario.expected.size() ? scenario.expected[i] : "(nothing)";
        err << "expect " << got << (got == wanted ? "" : "    # not: " + wanted) << '\n';
    }
    return false;
}

}  // namespace

int simulate(const Options& given, std::ostream& out, std::ostream& err) {
    Options o = given;
    std::optional<Scenario> scenario;
    if (!o.scenario.empty()) {
        Result<Scenario> read = read_scenario(o.scenario);
        if (!read) {
            err << "kvalet simulate: " << read.error().message << '\n';
            return 1;
        }
        scenario = std::move(*read);
        o.machine = scenario->machine;
        if (!scenario->preset.empty()) {
            o.presets = {scenario->preset};
            o.budgets_mib.resize(1, 0);
        }
    }
    if (o.presets.empty()) {
        o.presets.assign(std::begin(sched::kPresets), std::end(sched::kPresets));
    }
    if (const std::string trouble = trouble_with(o); !trouble.empty()) {
        err << "kvalet simulate: " << trouble << '\n';
        return 1;
    }
    std::vector<Job> jobs = jobs_of(o);
    for (Job& job : jobs) {
        if (scenario) {
            set_numbers(job.policy, scenario->numbers);
        }
    }
    const std::vector<Report> reports = run_all(o, jobs, scenario ? &*scenario : nullptr);
    std::uint64_t hash = o.workload.seed;
    bool good = true;
    for (const Report& r : reports) {
        hash = mixed(hash, r.hash);
        good &= r.fault.empty();
        if (!r.fault.empty()) {
            err << "kvalet simulate: " << r.fault << '\n';
        }
    }
    if (!good) {
        return 1;
    }
    print_table(out, reports);
    out << "hash " << std::hex << std::setw(16) << std::setfill('0') << hash << std::dec << std::setfill(' ')
        << '\n';
    return !scenario || as_expected(*scenario, reports.front(), err) ? 0 : 1;
}

}  // namespace kvalet::sim
