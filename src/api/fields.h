// Reads the fields of a request by llama-server's schema rules (llama-server-api 1.5): null is absent, the
// first name that is there wins over its aliases, a wrong type or limit is a 400 `Field 'x': …`, some ranges
// clamp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_fwd.h"
#include "core/result.h"

namespace kvalet::api {

enum class OutOfRange : std::uint8_t { fail, clamp };

/// Remembers the first error; after it nothing is read any more, so a caller checks once, at the end.
class FieldReader {
  public:
    using Names = std::initializer_list<std::string_view>;

    /// `object` outlives the reader and is an object. `where` is put in front of the names in messages
    /// ("stream_options.").
    explicit FieldReader(const Json& object, std::string where = {})
        : object_(object), where_(std::move(where)) {}

    /// The first value among the names that is there and not null; `used` gets its name.
    [[nodiscard]] const Json* find(Names names, std::string_view* used = nullptr) const;

    // Each returns true when the field was there and good, and then has set `out`.
    bool boolean(Names names, bool& out);
    bool integer(Names names, std::int64_t& out, std::int64_t min, std::int64_t max,
                 OutOfRange rule = OutOfRange::fail);
    bool integer(Names names, std::int32_t& out, std::int32_t min = std::numeric_limits<std::int32_t>::min(),
                 std::int32_t max = std::numeric_limits<std::int32_t>::max(),
                 OutOfRange rule = OutOfRange::fail);
    /// Clamps to the range; the default is every finite float.
    bool number(Names names, float& out, float min = std::numeric_limits<float>::lowest(),
                float max = std::numeric_limits<float>::max(), OutOfRange rule = OutOfRange::clamp);
    bool string(Names names, std::string& out);
    bool strings(Names names, std::vector<std::string>& out);

    /// Refuses what is not there yet: 501 `Field 'x': …` unless the value is absent or equals one of the
    /// harmless ones (false, 0, "", [], {}).
    void refuse(Names names, std::string_view sentence);

    void fail(std::string_view name, std::string_view sentence, ErrorKind kind = ErrorKind::invalid_request);
    /// An error that carries its field's name already.
    void fail_with(const Error& error) {
        if (!error_) {
            error_ = error;
        }
    }
    [[nodiscard]] bool ok() const { return !error_.has_value(); }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    void wrong_type(std::string_view name, std::string_view wanted, const Json& got);

    const Json& object_;
    std::string where_;
    std::optional<Error> error_;
};

/// The value of an integer, also when it is written as 3.0; nothing for other kinds and beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> integer_of(const Json& value);

}  // namespace kvalet::api
