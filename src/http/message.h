// One HTTP request as the handlers see it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvalet::http {

struct Header {
    std::string name;
    std::string value;
};
using Headers = std::vector<Header>;

/// A complete request, body included. Built on the io thread, then constant: any thread may read it.
struct Request {
    std::string method;                                      // as sent, upper case for the known ones
    std::string target;                                      // raw, as in the request line
    std::string path;                                        // percent-decoded, without the query
    std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
    Headers headers;                       // in order; trailers of a chunked body are not among them
    std::string body;                      // chunked coding already undone
    std::string remote;                    // "address:port", or "unix" for a unix socket
    std::vector<std::string> path_params;  // filled by the router, in the order of the {…}

    /// The first header of that name, in any case; "" when absent.
    [[nodiscard]] std::string_view header(std::string_view name) const;
    /// The first value of that name in the query; "" when absent.
    [[nodiscard]] std::string_view query_value(std::string_view name) const;
};

/// ASCII case folding only: what header names and tokens need.
[[nodiscard]] bool iequals(std::string_view a, std::string_view b);

}  // namespace kvalet::http
