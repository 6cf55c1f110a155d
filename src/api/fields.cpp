#include "api/fields.h"

#include <algorithm>
#include <cmath>

#include "api/json.h"

namespace kvalet::api {

std::optional<std::int64_t> integer_of(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto v = value.get<std::uint64_t>();
        constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        return v <= kMax ? std::optional(static_cast<std::int64_t>(v)) : std::nullopt;
    }
    if (value.is_number_integer()) {
        return value.get<std::int64_t>();
    }
    if (value.is_number_float()) {
        constexpr double kExact = 9007199254740992.0;  // 2^53: above it a double skips integers
        const auto v = value.get<double>();
        if (std::trunc(v) == v && std::abs(v) <= kExact) {
            return static_cast<std::int64_t>(v);
        }
    }
    return std::nullopt;
}

const Json* FieldReader::find(Names names, std::string_view* used) const {
    for (const std::string_view name : names) {
        const auto it = object_.find(std::string(name));
        if (it != object_.end() && !it->is_null()) {
            if (used != nullptr) {
                *used = name;
            }
            return &*it;
        }
    }
    return nullptr;
}

void FieldReader::fail(std::string_view name, std::string_view sentence, ErrorKind kind) {
    if (!error_) {
        error_ = make_error(kind, "Field '" + where_ + std::string(name) + "': " + std::string(sentence));
    }
}

void FieldReader::wrong_type(std::string_view name, std::string_view wanted, const Json& got) {
    fail(name, "must be " + std::string(wanted) + ", but is " + std::string(kind_of(got)));
}

bool FieldReader::boolean(Names names, bool& out) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return false;
    }
    if (!value->is_boolean()) {
        wrong_type(name, "a boolean", *value);
        return false;
    }
    out = value->get<bool>();
    return true;
}

bool FieldReader::integer(Names names, std::int64_t& out, std::int64_t min, std::int64_t max,
                          OutOfRange rule) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return false;
    }
    const std::optional<std::int64_t> v = integer_of(*value);
    if (!v && value->is_number_integer()) {
        fail(name, "is beyond the range of a 64-bit integer");
        return false;
    }
    if (!v) {
        wrong_type(name, "an integer", *value);
        return false;
    }
    if (rule == OutOfRange::fail && (*v < min || *v > max)) {
        fail(name, "must be between " + std::to_string(min) + " and " + std::to_string(max) + ", but is " +
                       std::to_string(*v));
        return false;
    }
    out = std::clamp(*v, min, max);
    return true;
}

bool FieldReader::integer(Names names, std::int32_t& out, std::int32_t min, std::int32_t max,
                          OutOfRange rule) {
    std::int64_t wide = 0;
    if (!integer(names, wide, std::int64_t{min}, std::int64_t{max}, rule)) {
        return false;
    }
    out = static_cast<std::int32_t>(wide);
    return true;
}

bool FieldReader::number(Names names, float& out, float min, float max, OutOfRange rule) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return false;
    }
    if (!value->is_number()) {
        wrong_type(name, "a number", *value);
        return false;
    }
    const auto v = value->get<double>();
    if (rule == OutOfRange::fail && (v < double{min} || v > double{max})) {
        fail(name,
             "must be between " + dump(Json(min)) + " and " + dump(Json(max)) + ", but is " + dump(*value));
        return false;
    }
    out = static_cast<float>(std::clamp(v, double{min}, double{max}));
    return true;
}

bool FieldReader::string(Names names, std::string& out) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return false;
    }
    if (!value->is_string()) {
        wrong_type(name, "a string", *value);
        return false;
    }
    out = value->get<std::string>();
    return true;
}

bool FieldReader::strings(Names names, std::vector<std::string>& out) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return false;
    }
    const bool good = value->is_array() &&
                      std::all_of(value->begin(), value->end(), [](const Json& v) { return v.is_string(); });
    if (!good) {
        fail(name, "must be an array of strings");
        return false;
    }
    out.clear();
    for (const Json& v : *value) {
        out.push_back(v.get<std::string>());
    }
    return true;
}

void FieldReader::refuse(Names names, std::string_view sentence) {
    std::string_view name;
    const Json* value = ok() ? find(names, &name) : nullptr;
    if (value == nullptr) {
        return;
    }
    const bool empty = (value->is_structured() && value->empty()) ||
                       (value->is_boolean() && !value->get<bool>()) ||
                       (value->is_number() && value->get<double>() == 0.0) ||
                       (value->is_string() && value->get_ref<const std::string&>().empty());
    if (!empty) {
        fail(name, sentence, ErrorKind::not_supported);
    }
}

}  // namespace kvalet::api
