#include "api/room.h"

#include "api/errors.h"

namespace kvalet::api {

http::Reply json_reply(std::string body, int status) {
    http::Reply reply;
    reply.status = status;
    reply.content_type = "application/json; charset=utf-8";
    reply.body = std::move(body);
    return reply;
}

http::Reply error_reply(const Error& error, const ApiConfig& config) {
    http::Reply reply = json_reply(error_body(error), http_status(error.kind));
    if (error.kind == ErrorKind::too_many_requests) {
        const int after_s = error.retry_after_s > 0 ? error.retry_after_s : config.retry_after_s;
        reply.headers.push_back({"Retry-After", std::to_string(after_s)});
    }
    return reply;
}

http::Reply reply_of(const Result<std::string>& body, const ApiConfig& config) {
    return body.ok() ? json_reply(*body) : error_reply(body.error(), config);
}

}  // namespace kvalet::api
