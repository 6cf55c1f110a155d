// The parts of the table of routes, one file each. Private to the routes.
#pragma once

#include <memory>
#include <string>

#include "api/room.h"
#include "http/router.h"

namespace kvalet::api {

/// Adds routes under the API prefix.
class RouteTable {
  public:
    RouteTable(http::Router& router, std::shared_ptr<Room> room) : router_(router), room_(std::move(room)) {}

    using Handler = std::function<void(const std::shared_ptr<Room>&, const std::shared_ptr<http::Exchange>&)>;
    void add(const std::string& method, const std::string& path, Handler handler) {
        router_.add(method, room_->config.api_prefix + path,
                    [room = room_, handler = std::move(handler)](
                        const std::shared_ptr<http::Exchange>& exchange) { handler(room, exchange); });
    }

  private:
    http::Router& router_;
    std::shared_ptr<Room> room_;
};

void add_completion_routes(RouteTable& routes);  // completions and chats
void add_text_routes(RouteTable& routes);        // tokenize and the like, on workers
void add_info_routes(
    RouteTable& routes);  // health, models, props, slots, metrics, requests: from the snapshot
void add_order_routes(RouteTable& routes);    // slot actions, park, unpark, priority
void add_missing_routes(RouteTable& routes);  // what llama-server has and Kvalet does not yet: 501

}  // namespace kvalet::api
