// What is asked of the engine besides generating: slot files, park, unpark, priority (llama-server-api 1.3,
// P7.2).
#include <utility>

#include "api/routes_parts.h"
#include "api/slots.h"

namespace kvalet::api {

namespace {

using RoomPtr = std::shared_ptr<Room>;
using ExchangePtr = std::shared_ptr<http::Exchange>;

void refuse(const RoomPtr& room, const ExchangePtr& exchange, const Error& error) {
    exchange->send(error_reply(error, room->config));
}

/// The engine's answer as a reply. It comes on the engine thread, which only hands it over.
template <class T, class Format>
engine::Callback<T> answer(const RoomPtr& room, const ExchangePtr& exchange, Format format) {
    return [room, exchange, format = std::move(format)](Result<T> result) {
        exchange->post([room, exchange, format, result = std::move(result)] {
            exchange->send(result.ok() ? json_reply(format(*result))
                                       : error_reply(result.error(), room->config));
        });
    };
}

engine::Callback<engine::ParkReply> answer_park(const RoomPtr& room, const ExchangePtr& exchange) {
    return answer<engine::ParkReply>(room, exchange, park_body);
}

void save_or_restore(const RoomPtr& room, const ExchangePtr& exchange, SlotId slot, bool save) {
    const Result<std::string> filename = parse_slot_filename(exchange->request().body);
    if (!filename.ok()) {
        refuse(room, exchange, filename.error());
        return;
    }
    const std::string path = room->config.slot_save_path + *filename;
    if (save) {
        room->engine->save_slot(
            slot, path, answer<engine::SlotFileReply>(room, exchange, [name = *filename](const auto& reply) {
                return save_body(reply, name);
            }));
    } else {
        room->engine->restore_slot(
            slot, path, answer<engine::SlotFileReply>(room, exchange, [name = *filename](const auto& reply) {
                return restore_body(reply, name);
            }));
    }
}

/// save, restore and erase: the id wraps modulo the number of slots, and a busy slot makes the order wait.
void slot_file(const RoomPtr& room, const ExchangePtr& exchange, SlotId slot, std::string_view action) {
    if (room->config.slot_save_path.empty()) {
        refuse(room, exchange,
               make_error(ErrorKind::not_supported,
                          "Slot actions need a directory; start the server with --slot-save-path"));
    } else if (action == "erase") {
        room->engine->erase_slot(slot, answer<engine::SlotFileReply>(room, exchange, erase_body));
    } else {
        save_or_restore(room, exchange, slot, action == "save");
    }
}

bool slots_are_on(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!room->config.endpoint_slots) {
        refuse(room, exchange,
               make_error(ErrorKind::not_supported,
                          "This is off with /slots; start the server without --no-slots"));
    }
    return room->config.endpoint_slots;
}

void slot_action(const RoomPtr& room, const ExchangePtr& exchange) {
    const std::string_view action = exchange->request().query_value("action");
    const bool file = action == "save" || action == "restore" || action == "erase";
    const bool park = action == "park" || action == "unpark";
    const Result<std::int32_t> id = parse_slot_id(exchange->request().path_params.front());
    if (!file && !park) {
        refuse(room, exchange, make_error(ErrorKind::invalid_request, "Invalid action"));
    } else if (!id.ok()) {
        refuse(room, exchange, id.error());
    } else if (file) {
        slot_file(room, exchange, SlotId{*id}, action);
    } else if (slots_are_on(room, exchange)) {
        if (action == "park") {
            room->engine->park_slot(SlotId{*id}, answer_park(room, exchange));
        } else {
            room->engine->unpark_slot(SlotId{*id}, answer_park(room, exchange));
        }
    }
}

void park_request(const RoomPtr& room, const ExchangePtr& exchange) {
    if (slots_are_on(room, exchange)) {
        room->engine->park_request(exchange->request().path_params.front(), answer_park(room, exchange));
    }
}

void unpark_request(const RoomPtr& room, const ExchangePtr& exchange) {
    if (slots_are_on(room, exchange)) {
        room->engine->unpark_request(exchange->request().path_params.front(), answer_park(room, exchange));
    }
}

void set_priority(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!slots_are_on(room, exchange)) {
        return;
    }
    const Result<std::int32_t> priority = parse_priority(exchange->request().body, room->config.priority_max);
    if (!priority.ok()) {
        refuse(room, exchange, priority.error());
        return;
    }
    room->engine->set_priority(exchange->request().path_params.front(), *priority,
                               answer_park(room, exchange));
}

}  // namespace

void add_order_routes(RouteTable& routes) {
    routes.add("POST", "/slots/{id}", slot_action);
    routes.add("POST", "/requests/{id}/park", park_request);
    routes.add("POST", "/requests/{id}/unpark", unpark_request);
    routes.add("POST", "/requests/{id}/priority", set_priority);
}

}  // namespace kvalet::api
