#include "api/slots.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "api/fields.h"
#include "api/filename.h"
#include "api/json.h"

namespace kvalet::api {

namespace {

using engine::SequenceInfo;
using engine::SequenceState;

std::string_view name_of(SequenceState state) {
    switch (state) {
        case SequenceState::waiting:
            return "waiting";
        case SequenceState::prefilling:
            return "prefilling";
        case SequenceState::decoding:
            return "decoding";
        case SequenceState::swapped:
            return "swapped";
        case SequenceState::dropped:
            return "dropped";
        case SequenceState::finished:
            return "finished";
    }
    return "finished";
}

/// P6.2.
void add_preemption(Json& out, const SequenceInfo& s) {
    out["is_preempted"] = s.is_preempted;
    out["n_preempt"] = s.n_preempt;
    out["n_recompute"] = s.n_recompute;
    out["preempt_mode"] = s.preempt_mode ? Json(sched::name_of(*s.preempt_mode)) : Json(nullptr);
    out["preempt_reason"] = s.preempt_reason ? Json(sched::name_of(*s.preempt_reason)) : Json(nullptr);
    out["preempt_ms"] = s.preempt_ms;
    out["priority"] = s.priority;
    out["effective_priority"] = s.effective_priority;
}

Json params_of(const SequenceInfo& s) {
    if (s.params_json == nullptr) {
        return Json::object();
    }
    Json params = Json::parse(*s.params_json, nullptr, false);  // text that this room made
    return params.is_discarded() ? Json::object() : params;
}

Json slot_json(const engine::SlotInfo& slot, Tokens n_ctx) {
    Json out = {
        {"id", slot.id.value()},
        {"n_ctx", n_ctx.value()},
        {"speculative", false},
        {"is_processing", slot.is_processing},
    };
    if (!slot.sequence) {
        add_preemption(out, SequenceInfo{});
        return out;
    }
    const SequenceInfo& s = *slot.sequence;
    out["id_task"] = s.task.value();
    out["n_prompt_tokens"] = slot.n_tokens.value();
    out["n_prompt_tokens_processed"] = s.n_prompt_processed.value();
    out["n_prompt_tokens_cache"] = s.n_prompt_cached.value();
    out["params"] = params_of(s);
    out["next_token"] = Json::array({Json{
        {"has_next_token", slot.is_processing},
        {"has_new_line", s.has_new_line},
        {"n_remain", slot.is_processing ? s.n_remain : -1},
        {"n_decoded", s.n_decoded.value()},
    }});
    add_preemption(out, s);
    return out;
}

Json request_json(const SequenceInfo& s) {
    Json out = {
        {"id", s.public_id},
        {"id_task", s.task.value()},
        {"state", name_of(s.state)},
        {"id_slot", s.slot.value()},
        {"n_prompt", s.n_prompt.value()},
        {"n_prompt_processed", s.n_prompt_processed.value()},
        {"n_prompt_cached", s.n_prompt_cached.value()},
        {"n_decoded", s.n_decoded.value()},
        {"n_cells", s.n_cells.value()},
        {"bytes", s.parked_bytes.value()},
        {"parked_by_client", s.parked_by_client},
    };
    add_preemption(out, s);
    return out;
}

Json file_reply(const engine::SlotFileReply& reply, const std::string& filename, const char* n_tokens,
                const char* n_bytes, const char* ms) {
    return Json{
        {"id_slot", reply.slot.value()},    {"filename", filename},
        {n_tokens, reply.n_tokens.value()}, {n_bytes, reply.n_bytes.value()},
        {"timings", Json{{ms, reply.ms}}},
    };
}

}  // namespace

std::string slots_body(const engine::Snapshot& snapshot) {
    Json list = Json::array();
    for (const engine::SlotInfo& slot : snapshot.slots) {
        list.push_back(slot_json(slot, snapshot.n_ctx_slot));
    }
    return dump(list);
}

bool has_idle_slot(const engine::Snapshot& snapshot) {
    return std::any_of(snapshot.slots.begin(), snapshot.slots.end(),
                       [](const engine::SlotInfo& slot) { return !slot.is_processing; });
}

std::string requests_body(const engine::Snapshot& snapshot) {
    std::vector<const SequenceInfo*> all;
    for (const engine::SlotInfo& slot : snapshot.slots) {
        if (slot.is_processing && slot.sequence) {
            all.push_back(&*slot.sequence);
        }
    }
    for (const auto* list : {&snapshot.parked_without_slot, &snapshot.waiting}) {
        for (const SequenceInfo& s : *list) {
            all.push_back(&s);
        }
    }
    std::sort(all.begin(), all.end(),
              [](const SequenceInfo* a, const SequenceInfo* b) { return a->task < b->task; });
    Json data = Json::array();
    for (const SequenceInfo* s : all) {
        data.push_back(request_json(*s));
    }
    return dump(Json{
        {"object", "list"},
        {"n_resident", snapshot.n_processing},
        {"n_parked", snapshot.n_preempted},
        {"n_waiting", snapshot.n_deferred},
        {"data", std::move(data)},
    });
}

std::string park_body(const engine::ParkReply& reply) {
    return dump(Json{
        {"id", reply.public_id},
        {"id_slot", reply.slot.value()},
        {"id_task", reply.task.value()},
        {"preempt_mode", reply.ever_parked ? Json(sched::name_of(reply.mode)) : Json(nullptr)},
        {"n_cells", reply.n_cells.value()},
        {"bytes", reply.bytes.value()},
        {"is_preempted", reply.is_preempted},
        {"priority", reply.priority},
    });
}

std::string save_body(const engine::SlotFileReply& reply, const std::string& filename) {
    return dump(file_reply(reply, filename, "n_saved", "n_written", "save_ms"));
}

std::string restore_body(const engine::SlotFileReply& reply, const std::string& filename) {
    return dump(file_reply(reply, filename, "n_restored", "n_read", "restore_ms"));
}

std::string erase_body(const engine::SlotFileReply& reply) {
    return dump(Json{{"id_slot", reply.slot.value()}, {"n_erased", reply.n_tokens.value()}});
}

Result<std::string> parse_slot_filename(std::string_view body) {
    const Result<Json> request = parse_json_object(body);
    if (!request.ok()) {
        return request.error();
    }
    FieldReader fields(*request);
    std::string filename;
    if (!fields.string({"filename"}, filename) && fields.ok()) {
        fields.fail("filename", "is required");
    }
    if (!fields.ok()) {
        return *fields.error();
    }
    if (!is_valid_filename(filename)) {
        return make_error(ErrorKind::invalid_request, "Invalid filename");
    }
    return filename;
}

Result<std::int32_t> parse_priority(std::string_view body, std::int32_t priority_max) {
    const Result<Json> request = parse_json_object(body);
    if (!request.ok()) {
        return request.error();
    }
    FieldReader fields(*request);
    std::int32_t priority = 0;
    if (!fields.integer({"priority"}, priority, std::numeric_limits<std::int32_t>::min(), priority_max) &&
        fields.ok()) {
        fields.fail("priority", "is required");
    }
    if (!fields.ok()) {
        return *fields.error();
    }
    return priority;
}

Result<std::int32_t> parse_slot_id(std::string_view text) {
    std::int32_t id = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, id);
    if (error != std::errc{} || stopped != end || id < 0) {
        return make_error(ErrorKind::invalid_request, "Invalid slot ID");
    }
    return id;
}

}  // namespace kvalet::api
