#include "http/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <csignal>
#include <future>
#include <optional>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "http/context.h"
#include "http/listener.h"

namespace kvalet::http {

namespace {

/// Descriptors left for models, logs and listeners when the limit of open files is lower than
/// max_connections.
constexpr std::size_t kReservedDescriptors = 64;

std::size_t connections_by_descriptors() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
        return kMaxConnections;
    }
    const auto limit = static_cast<std::size_t>(files.rlim_cur);
    return limit > 2 * kReservedDescriptors ? limit - kReservedDescriptors : limit / 2;
}

/// Signals are for the main thread: a handler that ran here would interrupt every stream.
void block_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct Server::Impl {
    Impl(ServerConfig config, Router router) : context(std::move(config), std::move(router)) {}

    void run();
    void on_io_thread(std::function<void()> work);
    void close_listeners();

    Context context;
    // Keeps the thread when all is closed but stop() has not been called: a mailbox that takes work needs
    // somebody to do it.
    using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
    std::optional<WorkGuard> work_guard{std::in_place, context.io.get_executor()};
    // Behind the context, and so destroyed before it: the acceptors belong to its io_context.
    std::vector<std::unique_ptr<Listener>> listeners;
    std::string addresses;
    int port = 0;
    std::thread thread;
    std::atomic<bool> running = false;
    bool stopped = false;
};

/// Until nothing is left to wait for, that is until stop() has closed everything.
void Server::Impl::run() {
    while (!context.guard.run("the io thread", [&] { context.io.run(); })) {
    }
}

/// Runs `work` on the io thread and waits for it; on this thread when there is no io thread yet.
void Server::Impl::on_io_thread(std::function<void()> work) {
    if (!running.load()) {
        work();
        return;
    }
    KVALET_ASSERT(std::this_thread::get_id() != thread.get_id(), "the io thread cannot wait for itself");
    std::promise<void> done;
    if (context.mailbox->post([&] {
            context.guard.run("the server", work);
            done.set_value();
        })) {
        done.get_future().wait();
    }
}

void Server::Impl::close_listeners() {
    for (const auto& listener : listeners) {
        listener->close();
    }
}

Result<std::unique_ptr<Server>> Server::listen(ServerConfig config, Router router) {
    if (config.port < 0 || config.port > 65535) {
        return make_error(ErrorKind::unavailable, "the port must be between 0 and 65535");
    }
    config.max_connections = std::min(config.max_connections, connections_by_descriptors());
    if (config.slow_client_timeout.count() == 0 || config.slow_client_timeout > config.write_timeout) {
        config.slow_client_timeout = config.write_timeout;
    }
    auto impl = std::make_unique<Impl>(std::move(config), std::move(router));
    auto listeners = open_listeners(impl->context);
    if (!listeners) {
        return listeners.error();
    }
    impl->listeners = std::move(listeners).value();
    for (const auto& listener : impl->listeners) {
        impl->addresses += (impl->addresses.empty() ? "" : ", ") + listener->address();
        impl->port = impl->port == 0 ? listener->port() : impl->port;
    }
    return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
    stop();
}

int Server::port() const {
    return impl_->port;
}
std::string Server::addresses() const {
    return impl_->addresses;
}

void Server::run_in_thread() {
    KVALET_ASSERT(!impl_->thread.joinable() && !impl_->stopped, "a server runs once");
    for (const auto& listener : impl_->listeners) {
        listener->start();
    }
    impl_->running = true;
    impl_->thread = std::thread([impl = impl_.get()] {
        block_signals();
        pthread_setname_np(pthread_self(), "kvalet-io");
        impl->run();
    });
}

void Server::stop_accepting() {
    impl_->on_io_thread([this] {
        impl_->context.draining = true;
        impl_->close_listeners();
        impl_->context.connections.close_idle();
    });
}

void Server::stop() {
    if (std::exchange(impl_->stopped, true)) {
        return;
    }
    impl_->on_io_thread([this] {
        impl_->context.draining = true;
        impl_->close_listeners();
        impl_->context.connections.close_all();
        impl_->context.mailbox->close();
        impl_->work_guard.reset();
    });
    if (impl_->thread.joinable()) {
        impl_->thread.join();  // what was posted before the mailbox closed still runs
    }
    impl_->running = false;
}

std::size_t Server::open_connections() const {
    return impl_->context.connections.size();
}
std::size_t Server::open_exchanges() const {
    return impl_->context.open_exchanges.load(std::memory_order_relaxed);
}
std::size_t Server::threads() const {
    return impl_->running.load() ? 1 : 0;
}

}  // namespace kvalet::http
