// Completions and chats.
#include "api/completion.h"
#include "api/routes_parts.h"

namespace kvalet::api {

namespace {

RouteTable::Handler completion_in(Dialect dialect) {
    return [dialect](const std::shared_ptr<Room>& room, const std::shared_ptr<http::Exchange>& exchange) {
        Completion::start(room, exchange, dialect);
    };
}

}  // namespace

void add_completion_routes(RouteTable& routes) {
    routes.add("POST", "/completion", completion_in(Dialect::native));
    routes.add("POST", "/completions", completion_in(Dialect::native));
    routes.add("POST", "/v1/completions", completion_in(Dialect::oai_completion));
    routes.add("POST", "/chat/completions", completion_in(Dialect::oai_chat));
    routes.add("POST", "/v1/chat/completions", completion_in(Dialect::oai_chat));
}

}  // namespace kvalet::api
