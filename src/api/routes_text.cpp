// What needs the tokenizer or the template, but not the engine: done by a worker.
#include "api/json.h"
#include "api/parse_common.h"
#include "api/parse_prompt.h"
#include "api/routes_parts.h"
#include "api/tokens.h"

namespace kvalet::api {

namespace {

using Work = Result<std::string> (*)(const std::string& body, const Room& room);

Result<std::string> tokenize(const std::string& body, const Room& room) {
    return tokenize_reply(body, *room.model);
}

Result<std::string> detokenize(const std::string& body, const Room& room) {
    return detokenize_reply(body, *room.model);
}

Result<std::string> rendered_chat(const std::string& body, const Room& room) {
    const Result<Json> request = parse_json_object(body);
    return request.ok() ? parse_and_render_chat(*request, room.parse_context()) : request.error();
}

Result<std::string> apply_template(const std::string& body, const Room& room) {
    const Result<std::string> prompt = rendered_chat(body, room);
    if (!prompt.ok()) {
        return prompt.error();
    }
    return dump(Json{{"prompt", *prompt}});
}

Result<std::string> input_tokens(const std::string& body, const Room& room) {
    const Result<std::string> prompt = rendered_chat(body, room);
    if (!prompt.ok()) {
        return prompt.error();
    }
    const auto tokens = room.model->tokenize(*prompt, true, true);
    if (!tokens.ok()) {
        return tokens.error();
    }
    return dump(Json{{"input_tokens", tokens->size()}, {"object", "response.input_tokens"}});
}

RouteTable::Handler by_worker(Work work) {
    return [work](const std::shared_ptr<Room>& room, const std::shared_ptr<http::Exchange>& exchange) {
        const bool taken = room->pool.try_push([work, room, exchange] {
            if (!exchange->aborted()) {
                const auto body = guarded([&] { return work(exchange->request().body, *room); });
                exchange->send(reply_of(body, room->config));
            }
        });
        if (!taken) {
            exchange->send(error_reply(
                make_error(ErrorKind::too_many_requests, "Too many requests are waiting to be parsed"),
                room->config));
        }
    };
}

}  // namespace

void add_text_routes(RouteTable& routes) {
    routes.add("POST", "/tokenize", by_worker(tokenize));
    routes.add("POST", "/detokenize", by_worker(detokenize));
    routes.add("POST", "/apply-template", by_worker(apply_template));
    routes.add("POST", "/chat/completions/input_tokens", by_worker(input_tokens));
    routes.add("POST", "/v1/chat/completions/input_tokens", by_worker(input_tokens));
}

}  // namespace kvalet::api
