// No exception of a handler may end the io thread: it would take every other stream with it.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace kvalet::http {

class Guard {
  public:
    explicit Guard(std::function<void(const std::string&)> log) : log_(std::move(log)) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    /// Runs `work`; false, and a line in the log, when it threw.
    template <class Work>
    bool run(const char* what, Work&& work) const {
        try {
            std::forward<Work>(work)();
            return true;
        } catch (const std::exception& e) {
            report(std::string{what} + " threw: " + e.what());
        } catch (...) {
            report(std::string{what} + " threw");
        }
        return false;
    }

    void report(const std::string& line) const {
        if (log_) {
            log_(line);
        }
    }

  private:
    std::function<void(const std::string&)> log_;
};

}  // namespace kvalet::http
