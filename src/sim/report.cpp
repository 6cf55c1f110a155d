#include "sim/report.h"

#include <iomanip>
#include <sstream>

namespace kvalet::sim {

namespace {

/// "873 ms", "12.5 s": three digits or so, from integers alone.
std::string time_text(std::int64_t us) {
    constexpr std::int64_t kMs = 1'000, kSecond = 1'000'000;
    std::ostringstream out;
    if (us < 10 * kMs) {
        out << us / kMs << '.' << us % kMs / 100 << " ms";
    } else if (us < kSecond) {
        out << us / kMs << " ms";
    } else if (us < 100 * kSecond) {
        out << us / kSecond << '.' << us % kSecond / 100'000 << " s";
    } else {
        out << us / kSecond << " s";
    }
    return out.str();
}

std::string rate_text(std::int64_t n, Micros us) {
    const std::int64_t tenths = us == 0 ? 0 : n * 10'000'000 / us;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

class Row {
  public:
    explicit Row(std::ostream& out) : out_(out) {}
    ~Row() { out_ << '\n'; }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;

    Row& left(const std::string& text, int width) {
        out_ << std::left << std::setw(width) << text << std::right;
        return *this;
    }
    Row& cell(const std::string& text, int width = 9) {
        out_ << ' ' << std::setw(width) << text;
        return *this;
    }
    Row& cell(std::int64_t n, int width = 9) { return cell(std::to_string(n), width); }
    Row& bar() {
        out_ << " |";
        return *this;
    }
    Row& spread(const Spread& s) {
        bar();
        return cell(time_text(s.percentile(50)), 7)
            .cell(time_text(s.percentile(99)), 7)
            .cell(time_text(s.largest()), 7);
    }
    Row& spread_head() { return bar().cell("p50", 7).cell("p99", 7).cell("max", 7); }

  private:
    std::ostream& out_;
};

constexpr int kName = 10;

}  // namespace

void print_table(std::ostream& out, const std::vector<Report>& reports) {
    Row(out)
        .left("", kName)
        .cell("budget", 7)
        .cell("", 9)
        .cell("", 6)
        .cell("parks by")
        .cell("", 9)
        .cell("tokens", 10)
        .cell("tokens", 8)
        .bar()
        .cell("first token", 23)
        .bar()
        .cell("gap", 23)
        .bar()
        .cell("parked", 23);
    Row(out)
        .left("preset", kName)
        .cell("MiB", 7)
        .cell("completed")
        .cell("left", 6)
        .cell("swap")
        .cell("recompute")
        .cell("replayed", 10)
        .cell("per s", 8)
        .spread_head()
        .spread_head()
        .spread_head();
    for (const Report& r : reports) {
        Row(out)
            .left(r.preset, kName)
            .cell(r.budget_mib < 0 ? "none" : std::to_string(r.budget_mib), 7)
            .cell(r.n_completed)
            .cell(r.n_left, 6)
            .cell(r.n_swapped)
            .cell(r.n_dropped)
            .cell(r.n_recomputed, 10)
            .cell(rate_text(r.n_tokens, r.time_us), 8)
            .spread(r.first_us)
            .spread(r.gap_us)
            .spread(r.parked_us);
    }
}

}  // namespace kvalet::sim
