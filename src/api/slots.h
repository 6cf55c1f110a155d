// /slots, /requests and the replies of their actions (llama-server-api 1.3, P6.2, P7.2).
#pragma once

#include <string>

#include "core/result.h"
#include "engine/request.h"
#include "engine/snapshot.h"

namespace kvalet::api {

[[nodiscard]] std::string slots_body(const engine::Snapshot& snapshot);
[[nodiscard]] bool has_idle_slot(const engine::Snapshot& snapshot);

/// What waits, is resident and is parked, oldest task first. At most Snapshot::kMaxListedWaiting of the
/// waiting ones are listed; `n_waiting` counts them all.
[[nodiscard]] std::string requests_body(const engine::Snapshot& snapshot);

/// P7.2.
[[nodiscard]] std::string park_body(const engine::ParkReply& reply);

[[nodiscard]] std::string save_body(const engine::SlotFileReply& reply, const std::string& filename);
[[nodiscard]] std::string restore_body(const engine::SlotFileReply& reply, const std::string& filename);
[[nodiscard]] std::string erase_body(const engine::SlotFileReply& reply);

/// The `filename` of a save or restore, checked.
[[nodiscard]] Result<std::string> parse_slot_filename(std::string_view body);
/// The `priority` of POST /requests/{id}/priority (P7.1).
[[nodiscard]] Result<std::int32_t> parse_priority(std::string_view body, std::int32_t priority_max);
/// A decimal slot number; "Invalid slot ID" for anything else.
[[nodiscard]] Result<std::int32_t> parse_slot_id(std::string_view text);

}  // namespace kvalet::api
