#include "cli/sources.h"

#include <CLI/CLI.hpp>

#include "cli/spellings.h"
#include "cli/values.h"

namespace kvalet::cli {

namespace {

Error usage_error(std::string message) {
    return make_error(ErrorKind::invalid_request, std::move(message));
}

/// `written` is a spelling of the flag, or its variable.
Error not_available(const NotYet& flag, std::string_view written) {
    std::string message(written);
    if (written != name_of(flag)) message.append(" (").append(name_of(flag)).append(")");
    return usage_error(message + " is known to llama-server but not available in Kvalet yet");
}

Error unknown(const std::string& written) {
    if (!written.starts_with('-')) return usage_error("unexpected argument: " + in_message(written));
    std::string message = "unknown argument: " + in_message(written);
    if (const std::string near = spellings().nearest(written); !near.empty()) {
        message += " (did you mean " + near + "?)";
    }
    return usage_error(message + "; --help lists all flags");
}

Result<Assignments> read_variable(const Environment& environment, const Flag& flag) {
    if (flag.variable.empty()) return Assignments{};
    if (!flag.negative.empty()) {
        // As in llama-server the negative variable counts whatever it is set to.
        const std::string negative = negative_variable(flag.variable);
        if (!negative.empty() && environment.variable(negative)) return Assignments{{&flag, "off", negative}};
    }
    std::optional<std::string> value = environment.variable(flag.variable);
    if (!value || value->empty()) return Assignments{};
    return Assignments{{&flag, *std::move(value), flag.variable}};
}

// ---- arguments: every known spelling becomes the form that CLI11 can read, "--long value"; what is not
// known is left for it to find. CLI11 itself has no short flags of several letters, no "--no-x" for options
// with a value, and reads config files after variables.

class Arguments {
  public:
    explicit Arguments(const std::vector<std::string>& args) : args_(args) {}

    Result<std::vector<std::string>> normalised() {
        while (at_ < args_.size()) {
            if (Status done = take(args_[at_++]); !done) return done.error();
        }
        return std::move(out_);
    }

  private:
    Status take(const std::string& argument) {
        const Spelling* known = spellings().find(argument);
        std::optional<std::string> value;
        std::string written = argument;
        if (known == nullptr) {
            if (const std::size_t equals = spellings().equals_of(argument); equals != std::string::npos) {
                written = argument.substr(0, equals);
                known = spellings().find(written);
                value = argument.substr(equals + 1);
            }
        }
        if (known == nullptr) {
            out_.push_back(argument);
            return Unit{};
        }
        if (known->is_switch()) {
            if (!value) value = "on";
            if (known->negative) value = inverted(*value);
        } else if (!value) {
            if (at_ == args_.size()) return usage_error(written + ": expected a value after it");
            value = args_[at_++];
        }
        return known->flag != nullptr ? pass(*known->flag, *value) : refuse(*known->not_yet, written, *value);
    }

    Status pass(const Flag& flag, const std::string& value) {
        out_.push_back("--" + flag.name);
        out_.push_back(value);
        return Unit{};
    }

    Status refuse(const NotYet& flag, const std::string& written, const std::string& value) {
        if (!is_harmless(flag, value)) return not_available(flag, written);
        if (flag.values > 1) at_ = std::min(at_ + static_cast<std::size_t>(flag.values - 1), args_.size());
        return Unit{};
    }

    const std::vector<std::string>& args_;
    std::size_t at_ = 0;
    std::vector<std::string> out_;
};

}  // namespace

Result<Assignments> read_variables(const Environment& environment) {
    Assignments all;
    for (const Flag& flag : all_flags()) {
        Result<Assignments> found = read_variable(environment, flag);
        if (!found) return found.error();
        all.insert(all.end(), found->begin(), found->end());
    }
    for (const NotYet& flag : not_yet_flags()) {
        if (flag.variable.empty()) continue;
        const std::optional<std::string> value = environment.variable(std::string(flag.variable));
        if (value && !value->empty() && !is_harmless(flag, *value)) return not_available(flag, flag.variable);
    }
    return all;
}

Result<Assignments> read_arguments(const std::vector<std::string>& args) {
    Result<std::vector<std::string>> tokens = Arguments(args).normalised();
    if (!tokens) return tokens.error();

    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::map<const CLI::Option*, const Flag*> flag_of;
    for (const Flag& flag : all_flags()) {
        CLI::Option* option = app.add_option("--" + flag.name, CLI::callback_t{});
        option->take_all();
        flag_of[option] = &flag;
    }
    try {
        std::vector<std::string> reversed(tokens->rbegin(), tokens->rend());
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        return usage_error(error.what());
    }
    if (const std::vector<std::string> extras = app.remaining(); !extras.empty())
        return unknown(extras.front());

    Assignments all;
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* option : app.parse_order()) {
        const Flag* flag = flag_of.at(option);
        all.push_back({flag, option->results().at(seen[option]++), "--" + flag->name});
    }
    return all;
}

}  // namespace kvalet::cli
