#include "cli/options.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cli/sources.h"
#include "cli/values.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace kvalet::cli {

namespace {

/// llama-server's meaning of --parallel -1.
constexpr int kAutoSlots = 4;

Error bad_value(const std::string& source, const std::string& what, const std::string& value) {
    return make_error(ErrorKind::invalid_request, source + ": " + what + ", got " + in_message(value));
}

/// Later layers win flag by flag.
Assignments merged(std::vector<Assignments> layers) {
    Assignments all;
    for (Assignments& layer : layers) {
        std::erase_if(all, [&layer](const Assignment& earlier) {
            return std::any_of(layer.begin(), layer.end(),
                               [&earlier](const Assignment& a) { return a.flag == earlier.flag; });
        });
        std::move(layer.begin(), layer.end(), std::back_inserter(all));
    }
    // The preset sets all knobs, single flags beside it win wherever they stand (P5).
    std::stable_partition(all.begin(), all.end(),
                          [](const Assignment& a) { return a.flag->name == "preempt-preset"; });
    return all;
}

Status apply(ServeOptions& options, const Assignments& assignments) {
    for (const Assignment& a : assignments) {
        if (const Status done = a.flag->set(options, a.value); !done) {
            return bad_value(a.source, done.error().message, a.value);
        }
        options.given.insert(a.flag->name);
    }
    return Unit{};
}

Status settle_slots(ServeOptions& o) {
    ContextOptions& c = o.context;
    if (c.n_slots == ContextOptions::kAutoParallel) {
        c.n_slots = kAutoSlots;
        if (!o.is_given("kv-unified")) c.unified = true;
    }
    if (c.n_ctx_slot_max > 0 && !o.is_given("ctx-size")) c.n_ctx = c.n_ctx_slot_max * c.n_slots;
    if (c.n_ctx > INT32_MAX) {
        return make_error(ErrorKind::invalid_request,
                          "--kv-unified-per-slot: expected a pool of at most " + std::to_string(INT32_MAX) +
                              " cells for all slots, got " + std::to_string(c.n_ctx));
    }
    c.n_ubatch = std::min(c.n_ubatch, c.n_batch);
    return Unit{};
}

void settle_threads(ServeOptions& o, unsigned cores) {
    const int all = static_cast<int>(std::max(1U, cores));
    if (o.context.n_threads <= 0) o.context.n_threads = all;
    if (o.context.n_threads_batch <= 0) o.context.n_threads_batch = o.context.n_threads;
    if (o.http.worker_threads <= 0) o.http.worker_threads = std::max(o.context.n_slots + 4, all - 1);
}

void settle_escapes(ServeOptions& o) {
    if (!o.escape) return;
    for (std::string& text : o.text.stop.stop) text = unescape(text);
    if (!o.is_given("dry-sequence-breaker")) return;
    for (std::string& text : o.text.sampling.dry_sequence_breakers) text = unescape(text);
}

Status settle_preempt(ServeOptions& o, const Environment& environment) {
    const sched::Policy& policy = o.preempt.policy;
    if (policy.high_pct <= policy.low_pct) {
        return make_error(ErrorKind::invalid_request, "--preempt-high: expected more than --preempt-low (" +
                                                          std::to_string(policy.low_pct) + "), got '" +
                                                          std::to_string(policy.high_pct) + "'");
    }
    constexpr const char* kEvery = "LLAMA_SERVER_PREEMPT_EVERY";
    if (const std::optional<std::string> every = environment.variable(kEvery); every && !every->empty()) {
        const auto n = integer_of(*every);
        if (!n || *n < 0) return bad_value(kEvery, "expected a whole number of at least 0", *every);
        o.preempt.preempt_every = *n;
    }
    return Unit{};
}

/// Cores that do arithmetic: two threads of one core count once. Not more than this process may use.
unsigned count_cores() {
    const unsigned logical = std::max(1U, std::thread::hardware_concurrency());
#if defined(__linux__)
    std::set<std::string> cores;
    for (unsigned cpu = 0; cpu < logical; ++cpu) {
        std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings");
        if (std::string line; std::getline(file, line)) cores.insert(line);
    }
    const unsigned physical = cores.empty() ? logical : static_cast<unsigned>(cores.size());
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return std::clamp(static_cast<unsigned>(CPU_COUNT(&allowed)), 1U, physical);
    }
    return physical;
#else
    return logical;
#endif
}

}  // namespace

const std::vector<Flag>& all_flags() {
    static const std::vector<Flag> table = [] {
        std::vector<Flag> made;
        add_log_flags(made);
        add_model_flags(made);
        add_context_flags(made);
        add_server_flags(made);
        add_preempt_flags(made);
        add_sampling_flags(made);
        return made;
    }();
    return table;
}

void add(std::vector<Flag>& table, Group group, std::string_view names, std::string_view negative,
         std::string_view variable, std::string_view value, std::string_view fallback, std::string_view help,
         Setter set) {
    std::vector<std::string> spellings = words_of(names);
    Flag flag{group,
              spellings.front(),
              {},
              words_of(negative),
              std::string(variable),
              std::string(value),
              std::string(fallback),
              std::string(help),
              std::move(set)};
    flag.others.assign(spellings.begin() + 1, spellings.end());
    table.push_back(std::move(flag));
}

Environment process_environment() {
    Environment environment;
    environment.variable = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): before any thread
        if (value == nullptr) return std::nullopt;
        return value;
    };
    environment.config_files = {"/etc/llama.cpp/config.ini"};
    const std::optional<std::string> xdg = environment.variable("XDG_CONFIG_HOME");
    const std::optional<std::string> home = environment.variable("HOME");
    if (xdg && !xdg->empty()) {
        environment.config_files.push_back(*xdg + "/llama.cpp/config.ini");
    } else if (home && !home->empty()) {
        environment.config_files.push_back(*home + "/.config/llama.cpp/config.ini");
    }
    environment.cores = count_cores();
    return environment;
}

Result<Parsed> parse_options(const std::vector<std::string>& args, const Environment& environment) {
    Parsed parsed;
    ServeOptions& options = parsed.options;
    Result<Assignments> from_arguments = read_arguments(args);
    if (!from_arguments) return from_arguments.error();
    for (const Assignment& a : *from_arguments) {
        if (a.flag->name != "help" && a.flag->name != "version") continue;
        if (Status done = a.flag->set(options, a.value); !done)
            return bad_value(a.source, done.error().message, a.value);
    }
    if (options.help || options.version) return parsed;

    Assignments from_files = read_config_files(environment.config_files, parsed.warnings);
    Result<Assignments> from_variables = read_variables(environment);
    if (!from_variables) return from_variables.error();

    options.preempt.policy = *sched::preset(options.preempt.preset);
    const Assignments all =
        merged({std::move(from_files), *std::move(from_variables), *std::move(from_arguments)});
    if (Status done = apply(options, all); !done) return done.error();
    if (Status done = settle_slots(options); !done) return done.error();
    settle_threads(options, environment.cores);
    settle_escapes(options);
    if (Status done = settle_preempt(options, environment); !done) return done.error();
    return parsed;
}

}  // namespace kvalet::cli
