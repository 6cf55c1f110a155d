// What is read from the snapshot, on the io thread: answered at once, whatever the engine is doing (F25,
// F26).
#include "api/models.h"
#include "api/routes_parts.h"
#include "api/slots.h"

namespace kvalet::api {

namespace {

using RoomPtr = std::shared_ptr<Room>;
using ExchangePtr = std::shared_ptr<http::Exchange>;

void refuse(const RoomPtr& room, const ExchangePtr& exchange, ErrorKind kind, const char* message) {
    exchange->send(error_reply(make_error(kind, message), room->config));
}

void health(const RoomPtr& room, const ExchangePtr& exchange) {
    if (room->phase.load() == Phase::draining || room->engine->snapshot()->draining) {
        refuse(room, exchange, ErrorKind::unavailable, "The server is shutting down");
        return;
    }
    exchange->send(json_reply(R"({"status":"ok"})"));
}

void models(const RoomPtr& room, const ExchangePtr& exchange) {
    exchange->send(
        json_reply(models_body(room->config, room->model->info(), room->n_ctx(), room->created_s)));
}

void props(const RoomPtr& room, const ExchangePtr& exchange) {
    exchange->send(json_reply(props_body(room->config, room->model->info(), room->n_ctx())));
}

void set_props(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!room->config.endpoint_props) {
        refuse(room, exchange, ErrorKind::not_supported,
               "Changing properties is off; start the server with --props to allow it");
        return;
    }
    exchange->send(json_reply(R"({"success":true})"));
}

void slots(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!room->config.endpoint_slots) {
        refuse(room, exchange, ErrorKind::not_supported,
               "/slots is off; start the server without --no-slots");
        return;
    }
    const auto snapshot = room->engine->snapshot();
    if (!exchange->request().query_value("fail_on_no_slot").empty() && !has_idle_slot(*snapshot)) {
        refuse(room, exchange, ErrorKind::unavailable, "no slot available");
        return;
    }
    exchange->send(json_reply(slots_body(*snapshot)));
}

void requests(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!room->config.endpoint_slots) {
        refuse(room, exchange, ErrorKind::not_supported,
               "/requests is off; start the server without --no-slots");
        return;
    }
    exchange->send(json_reply(requests_body(*room->engine->snapshot())));
}

void metrics(const RoomPtr& room, const ExchangePtr& exchange) {
    if (!room->config.endpoint_metrics) {
        refuse(room, exchange, ErrorKind::not_supported, "/metrics is off; start the server with --metrics");
        return;
    }
    http::Reply reply;
    reply.content_type = "text/plain; version=0.0.4";
    reply.headers.push_back({"Process-Start-Time-Unix", std::to_string(room->config.start_time_us)});
    reply.body = room->metrics.scrape(*room->engine->snapshot());
    exchange->send(std::move(reply));
}

void front_page(const RoomPtr& room, const ExchangePtr& exchange) {
    http::Reply reply;
    reply.content_type = "text/html; charset=utf-8";
    const std::string& prefix = room->config.api_prefix;
    reply.body =
        "<!doctype html><title>Kvalet</title><p>Kvalet is an LLM server. Its API is that of llama-server and "
        "OpenAI: <code>" +
        prefix + "/v1/chat/completions</code>, <code>" + prefix + "/completion</code>, and more. <a href=\"" +
        prefix + "/health\">Health</a>.</p>\n";
    exchange->send(std::move(reply));
}

}  // namespace

void add_info_routes(RouteTable& routes) {
    routes.add("GET", "/", front_page);
    routes.add("GET", "/health", health);
    routes.add("GET", "/v1/health", health);
    routes.add("GET", "/models", models);
    routes.add("GET", "/v1/models", models);
    routes.add("GET", "/props", props);
    routes.add("POST", "/props", set_props);
    routes.add("GET", "/slots", slots);
    routes.add("GET", "/requests", requests);
    routes.add("GET", "/metrics", metrics);
}

}  // namespace kvalet::api
