// What the command line says to this room. Plain data, constant once the server listens.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "text/text_model.h"

namespace kvalet::api {

/// P8.4. How a stream tells that it is parked.
enum class SseNotices : std::uint8_t {
    comments,  // ": preempted" and the like
    data,      // an empty delta of the stream's own kind
    off,
};

/// llama-server-api 1.0.
struct CorsConfig {
    std::string origins =
        "*";  // "*" with credentials echoes the Origin; "localhost" echoes local ones only; else as given
    std::string methods = "GET, POST, DELETE, OPTIONS";
    std::string headers = "*";
    bool credentials = true;
};

struct ApiConfig {
    // ---- names
    std::vector<std::string> aliases;       // -a; the first in alphabetical order is the model's name
    std::vector<std::string> tags;          // --tags
    std::string hf_repo;                    // the name when there is no alias
    std::string model_path;                 // -m as given; the name when there is neither
    std::string build_info = "b0-unknown";  // "b<number>-<commit>", also the system_fingerprint

    // ---- access
    std::string api_prefix;             // "/v" style, no slash at the end; "" for none
    std::vector<std::string> api_keys;  // none: everybody
    CorsConfig cors;

    // ---- switches
    bool endpoint_slots = true;     // --no-slots
    bool endpoint_props = false;    // --props
    bool endpoint_metrics = false;  // --metrics
    bool ui = true;
    bool prefill_assistant = true;  // a chat that ends with the assistant is continued
    bool verbose = false;           // __verbose in every reply
    std::string slot_save_path;     // "": save, restore and erase answer 501; ends with a slash

    // ---- defaults that a request may override
    text::TextDefaults defaults;
    bool cache_prompt = true;
    std::int64_t n_keep = 0;
    int sse_ping_interval_s = 30;  // -1: off
    SseNotices sse_notices = SseNotices::comments;

    // ---- long waits
    /// A stream that has heard nothing of its request for so long gets its headers and is told that it waits,
    /// unless its notices are off. Until then an error still gets a status of its own.
    std::chrono::milliseconds queue_notice_delay{250};
    bool http_keepalive_body = false;  // white space in front of a JSON body that takes long
    std::chrono::milliseconds body_keepalive_interval{15'000};

    // ---- limits
    std::int32_t n_slots = 4;         // --parallel
    std::int32_t priority_max = 100;  // P7.1
    int retry_after_s = 1;            // of a 429 made here
    int workers = 2;                  // threads that parse, render and tokenise

    // ---- start
    std::int64_t start_time_us = 0;  // since the epoch, for /metrics
    std::string media_marker;        // "": drawn at the start
};

/// The name in `model` of every reply.
[[nodiscard]] std::string model_name(const ApiConfig& config);

}  // namespace kvalet::api
