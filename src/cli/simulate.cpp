#include "cli/simulate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "sim/simulate.h"

namespace kvalet::cli {

namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;

void add_what(CLI::App& app, sim::Options& o) {
    app.add_option("--scenario", o.scenario, "A scenario file instead of a workload from the seed");
    app.add_option("--preset", o.presets, "Only these presets, separated by commas")->delimiter(',');
    app.add_option("--budgets", o.budgets_mib,
                   "Budgets in MiB for the presets that have one, separated by commas; -1: no limit")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--cache-ram", o.cache_ram_mib, "MiB for prompt caches of idle slots; 0: off")
        ->capture_default_str();
    app.add_option("--preempt-every", o.preempt_every, "Park every request each N tokens as well; 0: off")
        ->capture_default_str();
    app.add_option("--prefill-chunk", o.prefill_chunk,
                   "Prompt tokens in one step while others generate; 0: the preset's")
        ->capture_default_str();
    app.add_option("--threads", o.threads, "Runs side by side; 0: one for each core")->capture_default_str();
}

void add_workload(CLI::App& app, sim::WorkloadOptions& w) {
    const auto add = [&app](const char* name, auto& field, const char* help) {
        app.add_option(name, field, help)->capture_default_str()->group("Workload");
    };
    add("--seed", w.seed, "The same seed gives the same run");
    add("--requests", w.n_requests, "Requests of a run");
    add("--clients", w.n_clients, "Clients that ask, wait for the end, think and ask again");
    add("--arrivals", w.arrivals_per_s,
        "Instead of clients: requests per second at random times; 0: clients");
    add("--think-us", w.think_us, "Mean pause of a client");
    add("--prompt-min", w.prompt_low, "Tokens of the shortest prompt");
    add("--prompt-max", w.prompt_high, "Tokens of the longest prompt");
    add("--generate-min", w.predict_low, "Fewest tokens to generate");
    add("--generate-max", w.predict_high, "Most tokens to generate");
    add("--important", w.important_pct, "Percent of requests with priority 10");
    add("--leave", w.leave_pct, "Percent of requests whose client goes away");
    add("--hold", w.hold_pct, "Percent of requests that their client parks for a while");
    add("--dawdle", w.dawdle_pct, "Percent of requests whose client does not read for a while");
    add("--topics", w.topic_pct, "Percent of prompts that share their first half with others");
}

void add_machine(CLI::App& app, sim::Machine& m) {
    const auto add = [&app](const char* name, auto& field, const char* help) {
        app.add_option(name, field, help)->capture_default_str()->group("Machine");
    };
    add("-c,--ctx-size", m.pool, "Cells of the pool");
    add("--parallel", m.n_slots, "Slots");
    add("-b,--batch-size", m.n_batch, "Most tokens of one decode");
    add("--ubatch-size", m.n_ubatch, "Prompt tokens in one step while nobody generates");
    add("--bytes-per-token", m.bytes_per_token, "Of KV cache");
    add("--decode-us", m.decode_us, "Time of one decode");
    add("--row-us", m.decode_row_us, "and of each sequence in it that makes one token");
    add("--prompt-rate", m.prompt_tokens_per_s, "Prompt tokens per second; 0: no time");
    add("--copy-rate", m.copy_mib_per_s, "MiB per second of parks and restores; 0: no time");
    add("--copy-us", m.copy_us, "Time of each park and restore before the first byte");
}

/// Not for people: a fault on purpose, to show that it is noticed.
void add_fault(CLI::App& app, sim::Options& o) {
    const std::map<std::string, sim::Fault> names = {
        {"wrong-token", sim::Fault::wrong_token},   {"lost-token", sim::Fault::lost_token},
        {"double-token", sim::Fault::double_token}, {"kept-cells", sim::Fault::kept_cells},
        {"lost-end", sim::Fault::lost_end},         {"failed-check", sim::Fault::failed_check},
    };
    app.add_option("--break", o.fault)->transform(CLI::CheckedTransformer(names))->group("");
    app.add_option("--break-at", o.fault_at)->group("");
}

}  // namespace

int simulate(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    sim::Options options;
    CLI::App app(
        "Runs the real engine on a fake model in virtual time, with every preset, and checks every step.",
        "kvalet simulate");
    add_what(app, options);
    add_workload(app, options.workload);
    add_machine(app, options.machine);
    add_fault(app, options);
    std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 wants them
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        out << app.help();
        return kExitOk;
    } catch (const CLI::ParseError& e) {
        err << "kvalet simulate: " << e.what() << '\n';
        return kExitFailed;
    }
    return sim::simulate(options, out, err);
}

}  // namespace kvalet::cli
