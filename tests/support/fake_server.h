// The whole server but for the model: sockets, routes, workers and the engine, on the fake backend and the
// fake text model.
#pragma once

#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "api/routes.h"
#include "engine/engine.h"
#include "engine/fake_backend.h"
#include "http/server.h"
#include "support/fake_text_model.h"

namespace kvalet::test {

class FakeServer {
  public:
    struct Options {
        api::ApiConfig api;
        engine::FakeOptions backend = ascii_backend();
        engine::EngineConfig engine;
        http::ServerConfig http;
        bool attach = true;  // false: the model is still being loaded
    };

    /// Generates ASCII that only a limit or a stop string ends.
    [[nodiscard]] static engine::FakeOptions ascii_backend() {
        engine::FakeOptions options;
        options.n_vocab = 128;
        return options;
    }

    FakeServer();  // with the defaults
    explicit FakeServer(Options options);
    ~FakeServer();
    FakeServer(const FakeServer&) = delete;
    FakeServer& operator=(const FakeServer&) = delete;

    void attach() { routes_.attach(engine_, model_, defaults_); }

    [[nodiscard]] int port() const { return server_->port(); }
    [[nodiscard]] engine::Engine& engine() { return engine_; }
    [[nodiscard]] api::Routes& routes() { return routes_; }
    [[nodiscard]] const FakeTextModel& model() const { return model_; }

    /// The n tokens that come after the text when nothing ends it.
    [[nodiscard]] std::vector<Token> expected_tokens(std::string_view prompt, std::size_t n) const;

  private:
    SteadyClock clock_;
    FakeTextModel model_;
    engine::FakeBackend backend_;
    engine::Engine engine_;
    text::TextDefaults defaults_;
    api::Routes routes_;
    std::unique_ptr<http::Server> server_;
    std::thread thread_;
};

}  // namespace kvalet::test
