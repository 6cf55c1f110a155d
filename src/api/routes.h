// The routes of the server (llama-server-api 1.1, P7.2): which path does what, who may ask, and what is
// answered while the model is not there yet.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/config.h"
#include "core/result.h"
#include "engine/engine.h"
#include "http/exchange.h"
#include "http/router.h"
#include "text/text_model.h"

namespace kvalet::api {

struct Room;

/// Made first, so that the server can listen before the model is loaded; outlives the http::Server. Order of
/// the end: the engine has ended its requests, http::Server::stop(), stop(), then the engine may go.
class Routes {
  public:
    explicit Routes(ApiConfig config);
    ~Routes();  // stop()
    Routes(const Routes&) = delete;
    Routes& operator=(const Routes&) = delete;

    /// Before the server listens.
    void install(http::Router& router);
    /// For ServerConfig: Server and Access-Control-Allow-Origin on every reply, and error objects for what
    /// the http room finds by itself.
    [[nodiscard]] std::function<void(const http::Request&, http::Headers&)> decorator() const;
    [[nodiscard]] http::ErrorFormatter error_formatter() const;

    /// Once, any thread: the model is there, and the engine runs or will. `defaults` replace those of the
    /// configuration: what the model's file recommends is known only now. From here on routes answer. Both
    /// outlive this object's stop().
    void attach(engine::Engine& engine, const text::TextModel& model, text::TextDefaults defaults);
    /// Any thread: /health says 503 from now on. The engine refuses new work by itself.
    void set_draining();
    /// Ends the workers. What waits for one is answered with a 500 by the http room if that still runs.
    void stop();

  private:
    std::shared_ptr<Room> room_;
};

}  // namespace kvalet::api
