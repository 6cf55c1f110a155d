#include "support/fake_server.h"

#include <utility>

#include "core/assert.h"

namespace kvalet::test {

namespace {

engine::EngineConfig engine_config(const FakeServer::Options& options) {
    engine::EngineConfig config = options.engine;
    config.n_slots = options.backend.n_slots;
    config.unified = options.backend.unified;
    return config;
}

api::ApiConfig api_config(const FakeServer::Options& options) {
    api::ApiConfig config = options.api;
    config.n_slots = options.backend.n_slots;
    return config;
}

}  // namespace

FakeServer::FakeServer() : FakeServer(Options{}) {}

FakeServer::FakeServer(Options options)
    : backend_(options.backend),
      engine_(engine_config(options), backend_, clock_, nullptr),
      defaults_(options.api.defaults),
      routes_(api_config(options)) {
    http::Router router;
    routes_.install(router);
    options.http.port = 0;
    options.http.decorate = routes_.decorator();
    options.http.format_error = routes_.error_formatter();
    auto server = http::Server::listen(std::move(options.http), std::move(router));
    KVALET_ASSERT(server.ok(), "a free port could not be listened on");
    server_ = std::move(server).value();
    server_->run_in_thread();
    thread_ = std::thread([this] { engine_.run(); });
    if (options.attach) {
        attach();
    }
}

FakeServer::~FakeServer() {
    engine_.stop();
    thread_.join();
    server_->stop();
    routes_.stop();
}

std::vector<Token> FakeServer::expected_tokens(std::string_view prompt, std::size_t n) const {
    std::vector<Token> tokens = *model_.tokenize(prompt, true, true);
    const std::size_t n_prompt = tokens.size();
    while (tokens.size() < n_prompt + n) {
        tokens.push_back(backend_.next_token(tokens));
    }
    return {tokens.begin() + static_cast<std::ptrdiff_t>(n_prompt), tokens.end()};
}

}  // namespace kvalet::test
