// The table of flags: parking (P5) and waiting.
#include "cli/values.h"

namespace kvalet::cli {

namespace {

sched::Policy& policy(ServeOptions& o) {
    return o.preempt.policy;
}

std::vector<std::string> preset_names() {
    return {std::begin(sched::kPresets), std::end(sched::kPresets)};
}

/// The parser sets this one before all others, so that single flags win (P5).
Status set_preset(ServeOptions& o, const std::string& value) {
    const std::optional<sched::Policy> made = sched::preset(value);
    if (!made) return expected("one of " + join(preset_names(), ", "));
    o.preempt.preset = value;
    policy(o) = *made;
    return Unit{};
}

/// `parse` is one of sched's *_of functions.
template <class Field, class Parse>
Setter as_word(Field field, Parse parse, std::string words) {
    return [field, parse, words = std::move(words)](ServeOptions& o, const std::string& value) -> Status {
        const auto meaning = parse(value);
        if (!meaning) return expected("one of " + words);
        field(o) = *meaning;
        return Unit{};
    };
}

Setter as_percent(int sched::Policy::*field) {
    return as_integer([field](ServeOptions& o) -> int& { return policy(o).*field; }, 0, 100);
}

void add_policy(std::vector<Flag>& t) {
    const Group g = Group::preempt;
    add(t, g, "preempt", "--no-preempt", "LLAMA_ARG_PREEMPT", "", "on",
        "Park a request when the pool is full. Off: everybody in the pool fails, as on llama-server.",
        as_switch([](ServeOptions& o) -> bool& { return policy(o).preempt; }));
    add(t, g, "preempt-preset", "", "LLAMA_ARG_PREEMPT_PRESET", "NAME", "default",
        "Sets all knobs below: " + join(preset_names(), ", ") + ". Single flags beside it win.", set_preset);
    add(t, g, "preempt-ram", "", "LLAMA_ARG_PREEMPT_RAM", "MIB", "8192",
        "Host memory for parked requests. -1: no limit; 0: keep no copies, compute again.",
        as_mib([](ServeOptions& o) -> std::int64_t& { return policy(o).budget_bytes; }));
    add(t, g, "preempt-trigger", "", "LLAMA_ARG_PREEMPT_TRIGGER", "WORD", "full",
        "When to park: full, or watermark (above --preempt-high).",
        as_word([](ServeOptions& o) -> sched::Trigger& { return policy(o).trigger; }, sched::trigger_of,
                "full, watermark"));
    add(t, g, "preempt-high", "", "LLAMA_ARG_PREEMPT_HIGH", "PCT", "94",
        "Trigger watermark: park above this share of the pool.", as_percent(&sched::Policy::high_pct));
    add(t, g, "preempt-low", "", "LLAMA_ARG_PREEMPT_LOW", "PCT", "80",
        "Trigger watermark: come back only up to this share of the pool.",
        as_percent(&sched::Policy::low_pct));
    add(t, g, "preempt-victim", "", "LLAMA_ARG_PREEMPT_VICTIM", "WORD", "priority",
        "Who is parked: smallest, newest or priority.",
        as_word([](ServeOptions& o) -> sched::VictimOrder& { return policy(o).victim; },
                sched::victim_order_of, "smallest, newest, priority"));
    add(t, g, "preempt-resume", "", "LLAMA_ARG_PREEMPT_RESUME", "WORD", "fair",
        "Who comes back: fit, fair or priority.",
        as_word([](ServeOptions& o) -> sched::ResumeOrder& { return policy(o).resume; },
                sched::resume_order_of, "fit, fair, priority"));
    add(t, g, "preempt-min-run", "", "LLAMA_ARG_PREEMPT_MIN_RUN", "N", "32",
        "Tokens that one makes after coming back before it may be parked again.",
        as_integer([](ServeOptions& o) -> Tokens& { return policy(o).min_run; }, 0));
}

void add_waiting(std::vector<Flag>& t) {
    const Group g = Group::preempt;
    add(t, g, "prefill-chunk", "", "LLAMA_ARG_PREFILL_CHUNK", "N", "64",
        "Prompt tokens in one step while others generate, so that a long prompt does not stall them.",
        as_integer([](ServeOptions& o) -> Tokens& { return policy(o).prefill_chunk; }, 1));
    add(t, g, "park-ttl", "", "LLAMA_ARG_PARK_TTL", "SECONDS", "600",
        "A request that a client parked comes back after so long; 0: never by itself.",
        as_integer([](ServeOptions& o) -> std::int64_t& { return o.preempt.park_ttl_s; }, 0));
    add(t, g, "priority-max", "", "LLAMA_ARG_PRIORITY_MAX", "N", "100",
        "Largest priority that a client may ask for; larger is more important (vLLM counts the other way).",
        as_integer([](ServeOptions& o) -> int& { return o.preempt.priority_max; }, 0));
    add(t, g, "sse-notices", "", "LLAMA_ARG_SSE_NOTICES", "WORD", "comments",
        "How a stream hears that it is parked: comments, data (empty chunks) or off.",
        as_choice(
            [](ServeOptions& o) -> api::SseNotices& { return o.preempt.sse_notices; },
            std::vector<std::pair<std::string, api::SseNotices>>{{"comments", api::SseNotices::comments},
                                                                 {"data", api::SseNotices::data},
                                                                 {"off", api::SseNotices::off}}));
    add(t, Group::limits, "queue-max", "", "LLAMA_ARG_QUEUE_MAX", "N", "1024",
        "Requests that may wait for a slot; one more gets 429 with Retry-After.",
        as_integer([](ServeOptions& o) -> int& { return o.preempt.queue_max; }, 0, 1'000'000));
}

}  // namespace

void add_preempt_flags(std::vector<Flag>& table) {
    add_policy(table);
    add_waiting(table);
}

}  // namespace kvalet::cli
