#include "sim/trouble.h"

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace kvalet::sim {

namespace {

thread_local const Place* watched = nullptr;

constexpr int kExitFailed = 1;

/// One line in memory of its own: a signal handler may not allocate, and threads must not mix their lines.
class Line {
  public:
    Line& add(const char* text) {
        while (*text != '\0' && n_ < sizeof(text_)) {
            text_[n_++] = *text++;
        }
        return *this;
    }
    Line& add(std::uint64_t value) {
        char digits[21] = {};
        std::size_t at = sizeof(digits) - 1;
        do {
            digits[--at] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value > 0);
        return add(digits + at);
    }
    void write() const { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_, n_); }

  private:
    char text_[256] = {};
    std::size_t n_ = 0;
};

void on_abort(int) {
    if (watched == nullptr) {
        return;  // not ours: the process aborts as it would have
    }
    Line()
        .add("kvalet simulate: seed ")
        .add(watched->seed)
        .add(" preset ")
        .add(watched->preset)
        .add(" step ")
        .add(watched->step)
        .add(": an assertion failed\n")
        .write();
    ::_exit(kExitFailed);
}

}  // namespace

std::string text_of(const Place& place) {
    return "seed " + std::to_string(place.seed) + " preset " + place.preset + " budget " +
           std::to_string(place.budget_mib) + " step " + std::to_string(place.step);
}

Watch::Watch(const Place* place) {
    static std::once_flag installed;
    std::call_once(installed, [] { std::signal(SIGABRT, on_abort); });
    watched = place;
}

Watch::~Watch() {
    watched = nullptr;
}

}  // namespace kvalet::sim
