// From method and path to a handler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/message.h"

namespace kvalet::http {

/// Called on the io thread: must not block.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;
/// Makes the reply for an error that this room found.
using ErrorFormatter = std::function<Reply(int status, std::string message)>;

/// Built before the server listens, then constant. The order of an answer: OPTIONS handler, middleware,
/// route, fallback. The middleware comes before the route is looked at, so that an unknown path without a key
/// is a 401.
class Router {
  public:
    /// A pattern is a path in which a whole segment may be a parameter: "/slots/{id}". A path without
    /// parameters wins over a pattern; of two patterns the first added wins. A GET route answers HEAD as
    /// well, without the body.
    void add(std::string method, std::string pattern, Handler handler);
    /// For unknown paths; without one they get a 404 from the error formatter.
    void set_fallback(Handler handler) { fallback_ = std::move(handler); }
    /// Middleware (keys, "loading"): returns false if it has replied. io thread.
    void set_before(std::function<bool(Exchange&)> before) { before_ = std::move(before); }
    /// Answers every OPTIONS request, before the middleware.
    void set_options(Handler handler) { options_ = std::move(handler); }

    /// What was found for one request. `handler` is null when there is no such route; then `allow` is the
    /// value of an Allow header if the path is known with other methods, else empty.
    struct Match {
        const Handler* handler = nullptr;
        std::string allow;
    };
    /// Finds the route and fills request.path_params. The match lives as long as the router is not changed.
    [[nodiscard]] Match match(Request& request) const;
    /// Answers by the match. Exceptions of handlers pass through.
    void dispatch(const Match& match, const std::shared_ptr<Exchange>& exchange,
                  const ErrorFormatter& format_error) const;

  private:
    using Methods = std::map<std::string, Handler, std::less<>>;
    struct Pattern {
        std::vector<std::string> segments;  // a parameter is stored as "/"
        Methods methods;
    };

    [[nodiscard]] const Methods* find(std::string_view path, std::vector<std::string>& params) const;
    [[nodiscard]] std::string allow_value(const Methods& methods) const;

    std::map<std::string, Methods, std::less<>> paths_;
    std::vector<Pattern> patterns_;
    Handler fallback_;
    Handler options_;
    std::function<bool(Exchange&)> before_;
};

}  // namespace kvalet::http
