#include "sim/scenario.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "sched/policy.h"

namespace kvalet::sim {

namespace {

constexpr Micros kMicrosPerMs = 1'000;
constexpr std::int64_t kKiB = 1'024;

std::optional<std::int64_t> number_of(const std::string& word) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    return error == std::errc{} && end == word.data() + word.size() ? std::optional(n) : std::nullopt;
}

/// Reads line by line; the first thing that it does not understand ends it.
class Parser {
  public:
    Parser() {
        Machine& m = made_.machine;
        m.decode_us = kMicrosPerMs;  // one step, one millisecond
        m.decode_row_us = 0;
        m.prompt_tokens_per_s = 0;
        m.copy_mib_per_s = 0;
        m.copy_us = 0;
        m.bytes_per_token = kKiB;
    }

    Result<Scenario> parse(std::string_view text) {
        std::istringstream lines{std::string(text)};
        for (std::string line; std::getline(lines, line) && wrong_.empty();) {
            ++n_lines_;
            line.resize(std::min(line.find('#'), line.size()));
            std::istringstream split(line);
            words_.assign(std::istream_iterator<std::string>(split), {});
            if (!words_.empty()) {
                take_line();
            }
        }
        if (wrong_.empty() && made_.asks.empty()) {
            wrong_ = "nobody asks for anything";
        }
        if (wrong_.empty() && made_.preset.empty() && !made_.expected.empty()) {
            wrong_ = "what is expected needs a preset";
        }
        if (!wrong_.empty()) {
            return make_error(ErrorKind::invalid_request, "line " + std::to_string(n_lines_) + ": " + wrong_);
        }
        return std::move(made_);
    }

  private:
    void take_line() {
        if (words_[0] == "expect" && words_.size() > 1) {
            std::string rest = words_[1];
            for (std::size_t i = 2; i < words_.size(); ++i) {
                rest += " " + words_[i];
            }
            made_.expected.push_back(rest);
        } else if (words_[0] == "at" && words_.size() >= 4) {
            take_order();
        } else if (words_.size() == 2 && words_[0] == "preset") {
            made_.preset = words_[1];
            if (!sched::preset(words_[1])) {
                wrong_ = "there is no preset " + words_[1];
            }
        } else if (words_.size() == 2) {
            take_setting(words_[0], words_[1]);
        } else {
            wrong_ = "expected a setting, 'at MS …' or 'expect …'";
        }
    }

    void take_setting(const std::string& name, const std::string& value) {
        Machine& m = made_.machine;
        PolicyNumbers& p = made_.numbers;
        const std::map<std::string, std::int64_t*> numbers = {
            {"pool", &m.pool},
            {"batch", &m.n_batch},
            {"ubatch", &m.n_ubatch},
            {"step-us", &m.decode_us},
            {"row-us", &m.decode_row_us},
            {"prompt-rate", &m.prompt_tokens_per_s},
            {"copy-rate", &m.copy_mib_per_s},
            {"copy-us", &m.copy_us},
            {"chunk", &p.chunk},
            {"margin", &p.margin},
            {"min-run", &p.min_run},
            {"high", &p.high},
            {"low", &p.low},
            {"budget-kib", &p.budget_kib},
        };
        const auto n = number_of(value);
        const auto i = numbers.find(name);
        if (!n || *n < 0) {
            wrong_ = name + " expects a number";
        } else if (i != numbers.end()) {
            *i->second = *n;
        } else if (name == "slots") {
            m.n_slots = static_cast<std::int32_t>(*n);
        } else if (name == "kib-per-token") {
            m.bytes_per_token = *n * kKiB;
        } else {
            wrong_ = "there is no setting " + name;
        }
    }

    void take_order() {
        const auto at_ms = number_of(words_[1]);
        if (!at_ms || *at_ms < 0) {
            wrong_ = "'at' expects milliseconds";
            return;
        }
        Order order;
        order.at_us = *at_ms * kMicrosPerMs;
        const std::string& verb = words_[2];
        if (verb == "ask") {
            order.request = take_ask();
        } else {
            const std::map<std::string, OrderKind> kinds = {{"leave", OrderKind::leave},
                                                            {"park", OrderKind::park},
                                                            {"unpark", OrderKind::unpark},
                                                            {"priority", OrderKind::priority}};
            const auto kind = kinds.find(verb);
            const auto who = std::find_if(made_.asks.begin(), made_.asks.end(),
                                          [this](const Ask& a) { return a.name == words_[3]; });
            if (kind == kinds.end() || who == made_.asks.end()) {
                wrong_ =
                    "expected ask, leave, park, unpark or priority, and the name of one that asked before";
                return;
            }
            order.kind = kind->second;
            order.request = static_cast<std::uint64_t>(who - made_.asks.begin());
            if (order.kind == OrderKind::priority) {
                const auto n = words_.size() == 5 ? number_of(words_[4]) : std::nullopt;
                wrong_ = n ? "" : "priority expects a name and a number";
                order.priority = static_cast<std::int32_t>(n.value_or(0));
            }
        }
        made_.orders.push_back(order);
    }

    std::uint64_t take_ask() {
        Ask a;
        a.name = words_[3];
        for (std::size_t i = 4; i + 1 < words_.size(); i += 2) {
            const auto n = number_of(words_[i + 1]);
            if (!n) {
                wrong_ = words_[i] + " expects a number";
            } else if (words_[i] == "prompt" && *n > 0) {
                a.n_prompt = *n;
            } else if (words_[i] == "generate" && *n > 0) {
                a.n_predict = *n;
            } else if (words_[i] == "priority") {
                a.priority = static_cast<std::int32_t>(*n);
            } else {
                wrong_ = "ask knows prompt, generate and priority, not " + words_[i] + " " + words_[i + 1];
            }
        }
        if (words_.size() % 2 != 0) {
            wrong_ = "ask expects pairs of a word and a number";
        }
        made_.asks.push_back(a);
        return made_.asks.size() - 1;
    }

    Scenario made_;
    std::vector<std::string> words_;
    std::size_t n_lines_ = 0;
    std::string wrong_;
};

}  // namespace

Result<Scenario> parse_scenario(std::string_view text) {
    return Parser().parse(text);
}

Result<Scenario> read_scenario(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return make_error(ErrorKind::not_found, "cannot read " + path);
    }
    std::string text(kMaxScenarioBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxScenarioBytes) {
        return make_error(ErrorKind::payload_too_large, path + " is too large for a scenario");
    }
    Result<Scenario> made = parse_scenario(text);
    if (!made) {
        return make_error(ErrorKind::invalid_request, path + ", " + made.error().message);
    }
    return made;
}

}  // namespace kvalet::sim
