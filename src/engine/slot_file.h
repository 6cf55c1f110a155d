// A slot's prompt cache as a file, in the format of llama_state_seq_save_file with llama-server's packed
// words (llama-server-api 1.3), so that files go back and forth between the two servers.
//
// Thread: the engine thread alone.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "engine/backend.h"
#include "engine/request.h"

namespace kvalet::engine {

/// Writes the idle slot's tokens and KV. `server` errors name the file and what failed.
Result<SlotFileReply> save_slot_file(Backend& backend, SlotId slot, const std::vector<Token>& tokens,
                                     const std::string& path);

/// Reads a file into the empty slot and its tokens into `tokens`. After an error the slot is empty. `room`:
/// cells that are free.
Result<SlotFileReply> restore_slot_file(Backend& backend, SlotId slot, std::vector<Token>& tokens,
                                        const std::string& path, Cells room);

}  // namespace kvalet::engine
