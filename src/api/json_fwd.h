// The JSON type of this room, named without its thousands of lines. Only .cpp files include api/json.h.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace kvalet::api {

/// Keeps the order of the keys: clients see the order that llama-server has (llama-server-api 1.0).
using Json = nlohmann::ordered_json;

}  // namespace kvalet::api
