// Flags that llama-server has and Kvalet has not.
#include "cli/not_yet.h"

#include <gtest/gtest.h>

#include "cli/values.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

/// The message for one spelling: short ones are explained by the long one.
std::string refusal(const std::string& written) {
    std::string named = written;
    for (const NotYet& flag : not_yet_flags()) {
        for (const std::string& name : words_of(flag.names)) {
            if (name == written && name != name_of(flag)) named += " (" + std::string(name_of(flag)) + ")";
        }
    }
    return named + " is known to llama-server but not available in Kvalet yet";
}

TEST(NotYet, ShortSpellingsAreExplained) {
    EXPECT_EQ(error_of({"-md", "d.gguf"}),
              "-md (--spec-draft-model) is known to llama-server but not available in Kvalet yet");
    EXPECT_EQ(error_of({"--lora", "a"}), "--lora is known to llama-server but not available in Kvalet yet");
}

TEST(NotYet, AreNamedAsSuch) {
    const std::vector<std::vector<std::string>> table = {{"--lora", "a.gguf"},
                                                         {"-hf", "user/model"},
                                                         {"--mmproj", "p.gguf"},
                                                         {"--context-shift"},
                                                         {"--spec-type", "ngram-mod"},
                                                         {"-md", "d.gguf"},
                                                         {"--ssl-key-file", "k"},
                                                         {"--reasoning-format", "deepseek"},
                                                         {"--embedding"},
                                                         {"--rerank"},
                                                         {"-j", "{}"},
                                                         {"--ui"},
                                                         {"--chat-template-kwargs", "{\"a\":1}"},
                                                         {"--draft-max", "3"},
                                                         {"--models-dir", "x"},
                                                         {"--lora=a.gguf"}};
    for (const auto& args : table) {
        const std::string written = args.front().substr(0, args.front().find('='));
        EXPECT_EQ(error_of(args), refusal(written));
    }
}

TEST(NotYet, WhatAsksForNothingIsAccepted) {
    const std::vector<std::vector<std::string>> table = {{"--no-context-shift"},
                                                         {"--no-ui"},
                                                         {"--no-webui"},
                                                         {"-fit", "off"},
                                                         {"--fit=off"},
                                                         {"--cache-reuse", "0"},
                                                         {"--spec-type", "none"},
                                                         {"--reasoning-format", "none"},
                                                         {"--reasoning", "auto"},
                                                         {"--reasoning-budget", "-1"},
                                                         {"--no-perf"},
                                                         {"--perf"},
                                                         {"--offline"},
                                                         {"--sleep-idle-seconds", "-1"},
                                                         {"--no-mmproj"},
                                                         {"--defrag-thold", "0.1"},
                                                         {"--context-shift=off"},
                                                         {"--pooling", "none"},
                                                         {"--ctx_checkpoints", "0"}};
    for (std::vector<std::string> args : table) {
        args.insert(args.end(), {"-c", "77"});
        const Result<Parsed> parsed = parse(args);
        ASSERT_TRUE(parsed.ok()) << args.front() << ": " << parsed.error().message;
        EXPECT_EQ(parsed->options.context.n_ctx, 77) << args.front();
    }
}

TEST(NotYet, VariablesCountAsWell) {
    EXPECT_EQ(error_of({}, {{"LLAMA_ARG_MMPROJ", "p.gguf"}}),
              "LLAMA_ARG_MMPROJ (--mmproj) is known to llama-server but not available in Kvalet yet");
    EXPECT_EQ(
        error_of({}, {{"LLAMA_ARG_CONTEXT_SHIFT", "0"}, {"HF_TOKEN", "x"}, {"LLAMA_ARG_CACHE_RAM", "0"}}),
        "");
}

// Every entry of the table: refused, or its harmless value accepted, with the right number of arguments
// taken.
TEST(NotYet, EveryEntryIsRefusedOrHarmless) {
    for (const NotYet& flag : not_yet_flags()) {
        for (const std::string& name : words_of(flag.names)) {
            std::vector<std::string> args = {name};
            args.insert(args.end(), static_cast<std::size_t>(flag.values), "surely-not-a-default");
            args.insert(args.end(), {"-c", "77"});
            const std::string message = error_of(args);
            if (flag.harmless == "*" || (flag.values == 0 && flag.harmless == "on")) {
                EXPECT_EQ(message, "") << name;
            } else {
                EXPECT_EQ(message, refusal(name));
            }
        }
        if (flag.values == 0 && flag.harmless == "off") {
            EXPECT_EQ(error_of({std::string(name_of(flag)) + "=off"}), "") << name_of(flag);
        }
    }
}

}  // namespace
}  // namespace kvalet::cli
