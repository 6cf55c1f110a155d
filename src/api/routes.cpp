#include "api/routes.h"

#include <chrono>
#include <utility>

#include "api/access.h"
#include "api/errors.h"
#include "api/ids.h"
#include "api/routes_parts.h"

namespace kvalet::api {

namespace {

bool is_page(std::string_view path) {
    return is_public(path) && path != "/health" && path != "/v1/health";
}

/// Runs before every route but OPTIONS: first whether the model is there, then whether the key is right.
bool may_pass(const Room& room, http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string_view path = without_prefix(request.path, room.config.api_prefix).value_or(request.path);
    if (room.phase.load(std::memory_order_acquire) == Phase::loading && !is_page(path)) {
        exchange.send(error_reply(make_error(ErrorKind::unavailable, "Loading model"), room.config));
        return false;
    }
    if (!is_public(path) &&
        !key_allowed(room.config.api_keys, request.header("Authorization"), request.header("X-Api-Key"))) {
        exchange.send(error_reply(make_error(ErrorKind::authentication, "Invalid API Key"), room.config));
        return false;
    }
    return true;
}

void answer_options(const Room& room, http::Exchange& exchange) {
    http::Reply reply;
    reply.content_type = "text/html";
    for (auto& [name, value] : preflight_headers(room.config.cors)) {
        reply.headers.push_back({name, value});
    }
    exchange.send(std::move(reply));
}

}  // namespace

Routes::Routes(ApiConfig config) {
    if (config.media_marker.empty()) {
        config.media_marker = new_media_marker();
    }
    room_ = std::make_shared<Room>(std::move(config));
}

Routes::~Routes() {
    stop();
}

void Routes::install(http::Router& router) {
    RouteTable table(router, room_);
    add_completion_routes(table);
    add_text_routes(table);
    add_info_routes(table);
    add_order_routes(table);
    add_missing_routes(table);
    router.set_before([room = room_](http::Exchange& exchange) { return may_pass(*room, exchange); });
    router.set_options([room = room_](const std::shared_ptr<http::Exchange>& exchange) {
        answer_options(*room, *exchange);
    });
    router.set_fallback([room = room_](const std::shared_ptr<http::Exchange>& exchange) {
        exchange->send(error_reply(make_error(ErrorKind::not_found, "File Not Found"), room->config));
    });
}

std::function<void(const http::Request&, http::Headers&)> Routes::decorator() const {
    return [room = room_](const http::Request& request, http::Headers& headers) {
        headers.push_back({"Server", "llama.cpp"});  // what clients of llama-server look for
        if (const auto origin = allowed_origin(room->config.cors, request.header("Origin"))) {
            headers.push_back({"Access-Control-Allow-Origin", *origin});
        }
    };
}

http::ErrorFormatter Routes::error_formatter() const {
    return [](int status, std::string message) {
        return json_reply(error_body(make_error(kind_of_status(status), std::move(message))), status);
    };
}

void Routes::attach(engine::Engine& engine, const text::TextModel& model, text::TextDefaults defaults) {
    KVALET_ASSERT(room_->phase.load() == Phase::loading, "a model was attached twice");
    room_->engine = &engine;
    room_->model = &model;
    room_->eog_tokens = eog_tokens_of(model);
    room_->config.defaults = std::move(defaults);
    room_->created_s =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    Phase loading = Phase::loading;
    room_->phase.compare_exchange_strong(loading, Phase::ready, std::memory_order_release);
}

void Routes::set_draining() {
    Phase ready = Phase::ready;
    room_->phase.compare_exchange_strong(ready, Phase::draining);
}

void Routes::stop() {
    room_->pool.stop();
}

}  // namespace kvalet::api
