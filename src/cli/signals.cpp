#include "cli/signals.h"

#include <signal.h>

#include "core/assert.h"

namespace kvalet::cli {

namespace {

sigset_t watched() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

}  // namespace

Signals::Signals() {
    const sigset_t set = watched();
    KVALET_ASSERT(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0, "the signals cannot be blocked");
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    KVALET_ASSERT(sigaction(SIGPIPE, &ignore, nullptr) == 0, "SIGPIPE cannot be ignored");
}

void Signals::start(std::function<void(int)> on_signal) {
    KVALET_ASSERT(!thread_.joinable(), "signals are watched already");
    thread_ = std::thread([this, on_signal = std::move(on_signal)] {
        const sigset_t set = watched();
        for (int count = 1;; ++count) {
            int signal = 0;
            if (sigwait(&set, &signal) != 0 || stopping_) return;
            on_signal(count);
        }
    });
}

Signals::~Signals() {
    stop();
}

void Signals::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);  // pending on that thread only: wakes its sigwait
    thread_.join();
}

}  // namespace kvalet::cli
