// Precedence, meanings that depend on several flags, bad values and their messages.
#include "cli/options.h"

#include <gtest/gtest.h>

#include "cli/spellings.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

// llama-server-api 2: what operators type. Written out here, not taken from the table.
constexpr const char* kShortForms[][2] = {{"-m", "model"},
                                          {"-a", "alias"},
                                          {"-c", "ctx-size"},
                                          {"-np", "parallel"},
                                          {"-kvu", "kv-unified"},
                                          {"-b", "batch-size"},
                                          {"-ub", "ubatch-size"},
                                          {"-t", "threads"},
                                          {"-tb", "threads-batch"},
                                          {"-n", "predict"},
                                          {"-fa", "flash-attn"},
                                          {"-ctk", "cache-type-k"},
                                          {"-ctv", "cache-type-v"},
                                          {"-kvo", "kv-offload"},
                                          {"-ngl", "gpu-layers"},
                                          {"-dev", "device"},
                                          {"-sm", "split-mode"},
                                          {"-ts", "tensor-split"},
                                          {"-mg", "main-gpu"},
                                          {"-ot", "override-tensor"},
                                          {"-cmoe", "cpu-moe"},
                                          {"-ncmoe", "n-cpu-moe"},
                                          {"-lm", "load-mode"},
                                          {"-to", "timeout"},
                                          {"-sps", "slot-prompt-similarity"},
                                          {"-cb", "cont-batching"},
                                          {"-s", "seed"},
                                          {"-l", "logit-bias"},
                                          {"-r", "reverse-prompt"},
                                          {"-v", "verbose"},
                                          {"-lv", "verbosity"},
                                          {"-h", "help"},
                                          {"--n-predict", "predict"},
                                          {"--n-gpu-layers", "gpu-layers"},
                                          {"--temperature", "temp"},
                                          {"-no-kvu", "kv-unified"},
                                          {"-nkvo", "kv-offload"},
                                          {"-nr", "repack"},
                                          {"-nocb", "cont-batching"},
                                          {"--no-slots", "slots"},
                                          {"--no-preempt", "preempt"},
                                          {"--no-warmup", "warmup"}};

TEST(Options, ShortFormsOfLlamaServer) {
    for (const auto& [written, name] : kShortForms) {
        const Spelling* found = spellings().find(written);
        ASSERT_NE(found, nullptr) << written;
        ASSERT_NE(found->flag, nullptr) << written;
        EXPECT_EQ(found->flag->name, name) << written;
        EXPECT_EQ(found->negative, std::string(written).starts_with("-n")
                                       ? name != std::string("parallel") && name != std::string("predict") &&
                                             name != std::string("gpu-layers") &&
                                             name != std::string("n-cpu-moe")
                                       : std::string(written).starts_with("--no-"))
            << written;
    }
}

TEST(Options, DefaultsOfLlamaServer) {
    const Result<Parsed> parsed = parse({});
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const ServeOptions& o = parsed->options;
    EXPECT_EQ(o.context.n_ctx, 0);
    EXPECT_EQ(o.context.n_batch, 2048);
    EXPECT_EQ(o.context.n_ubatch, 512);
    EXPECT_EQ(o.http.hosts, std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(o.http.port, 8080);
    EXPECT_EQ(o.http.timeout_s, 3600);
    EXPECT_EQ(o.http.sse_ping_interval, 30);
    EXPECT_FALSE(o.server.metrics);
    EXPECT_TRUE(o.server.slots);
    EXPECT_FALSE(o.server.props);
    EXPECT_EQ(o.text.stop.n_predict, -1);
    EXPECT_EQ(o.text.sampling.seed, text::kRandomSeed);
    EXPECT_TRUE(o.given.empty());
    EXPECT_TRUE(parsed->warnings.empty());
}

// ---- slots and context

TEST(Options, ParallelAutoIsFourSlotsInOnePool) {
    for (const std::vector<std::string>& args : {std::vector<std::string>{}, {"-np", "-1"}}) {
        const Result<Parsed> parsed = parse(args);
        ASSERT_TRUE(parsed.ok());
        EXPECT_EQ(parsed->options.context.n_slots, 4);
        EXPECT_TRUE(parsed->options.context.unified);
    }
}

TEST(Options, ParallelGivenSplitsThePool) {
    const Result<Parsed> split = parse({"-np", "2"});
    ASSERT_TRUE(split.ok());
    EXPECT_EQ(split->options.context.n_slots, 2);
    EXPECT_FALSE(split->options.context.unified);

    const Result<Parsed> shared = parse({"-np", "2", "-kvu"});
    ASSERT_TRUE(shared.ok());
    EXPECT_TRUE(shared->options.context.unified);

    const Result<Parsed> wanted_split = parse({"-no-kvu"});
    ASSERT_TRUE(wanted_split.ok());
    EXPECT_EQ(wanted_split->options.context.n_slots, 4);
    EXPECT_FALSE(wanted_split->options.context.unified);
}

TEST(Options, PerSlotLimitSizesThePool) {
    const Result<Parsed> sized = parse({"-np", "3", "-kvu", "--kv-unified-per-slot", "1000"});
    ASSERT_TRUE(sized.ok());
    EXPECT_EQ(sized->options.context.n_ctx, 3000);
    for (const std::string given : {"0", "512"}) {
        const Result<Parsed> pinned = parse({"-c", given, "--kv-unified-per-slot", "1000"});
        ASSERT_TRUE(pinned.ok());
        EXPECT_EQ(std::to_string(pinned->options.context.n_ctx), given);
        EXPECT_EQ(pinned->options.context.n_ctx_slot_max, 1000);
    }
}

TEST(Options, ThreadsSettle) {
    const Result<Parsed> by_cores = parse({});
    ASSERT_TRUE(by_cores.ok());
    EXPECT_EQ(by_cores->options.context.n_threads, 8);
    EXPECT_EQ(by_cores->options.context.n_threads_batch, 8);
    EXPECT_EQ(by_cores->options.http.worker_threads, 8);  // max(4 + 4, 8 - 1)
    const Result<Parsed> given = parse({"-t", "3", "-np", "1"});
    ASSERT_TRUE(given.ok());
    EXPECT_EQ(given->options.context.n_threads_batch, 3);
    EXPECT_EQ(given->options.http.worker_threads, 7);  // max(1 + 4, 8 - 1)
}

TEST(Options, UbatchIsNoLargerThanBatch) {
    const Result<Parsed> parsed = parse({"-b", "64"});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.context.n_ubatch, 64);
}

// ---- precedence

TEST(Options, ArgumentsWinOverVariablesOverFiles) {
    const TempDir dir;
    const std::string system =
        dir.write("system.ini", "ctx-size = 100\nport = 1001\nthreads = 1\nbatch-size = 10\n");
    const std::string user = dir.write("user.ini", "port = 1002\nthreads = 2\nbatch-size = 20\n");
    const Result<Parsed> parsed = parse({"-b", "40"}, {{"LLAMA_ARG_THREADS", "3"}, {"LLAMA_ARG_BATCH", "30"}},
                                        {system, dir.path() + "/missing.ini", user});
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const ServeOptions& o = parsed->options;
    EXPECT_EQ(o.context.n_ctx, 100);
    EXPECT_EQ(o.http.port, 1002);
    EXPECT_EQ(o.context.n_threads, 3);
    EXPECT_EQ(o.context.n_batch, 40);
    EXPECT_TRUE(parsed->warnings.empty());
}

TEST(Options, ALaterLayerReplacesLists) {
    const TempDir dir;
    const std::string file = dir.write("config.ini", "api-key = a\nalias = x\n");
    const Result<Parsed> parsed = parse({"-a", "y", "-a", "z"}, {{"LLAMA_API_KEY", "b,c"}}, {file});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.http.api_keys, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(parsed->options.model.aliases, (std::vector<std::string>{"y", "z"}));
}

TEST(Options, TheLastArgumentWins) {
    const Result<Parsed> parsed = parse({"-c", "1", "--metrics", "-c", "2", "--no-slots", "--slots"});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.context.n_ctx, 2);
    EXPECT_TRUE(parsed->options.server.slots);
    const Result<Parsed> across = parse({"--sampler-seq", "k", "--samplers", "top_p"});
    ASSERT_TRUE(across.ok());
    EXPECT_EQ(across->options.text.sampling.samplers, std::vector<std::string>{"top_p"});
    const Result<Parsed> other_way = parse({"--samplers", "top_p", "--sampler-seq", "k"});
    ASSERT_TRUE(other_way.ok());
    EXPECT_EQ(other_way->options.text.sampling.samplers, std::vector<std::string>{"top_k"});
}

TEST(Options, AVariableSetToNothingIsNotSet) {
    const Result<Parsed> parsed = parse({}, {{"LLAMA_ARG_CTX_SIZE", ""}, {"LLAMA_ARG_LORA", ""}});
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_FALSE(parsed->options.is_given("ctx-size"));
}

TEST(Options, SwitchesTakeTheirVariableByValue) {
    for (const char* on : {"on", "enabled", "true", "1"}) {
        const Result<Parsed> parsed = parse({}, {{"LLAMA_ARG_ENDPOINT_METRICS", on}});
        ASSERT_TRUE(parsed.ok());
        EXPECT_TRUE(parsed->options.server.metrics) << on;
    }
    for (const char* off : {"off", "disabled", "false", "0"}) {
        const Result<Parsed> parsed = parse({}, {{"LLAMA_ARG_ENDPOINT_SLOTS", off}});
        ASSERT_TRUE(parsed.ok());
        EXPECT_FALSE(parsed->options.server.slots) << off;
    }
}

// ---- config files

TEST(Options, ConfigFilesHaveSectionsAndComments) {
    const TempDir dir;
    const std::string file =
        dir.write("config.ini",
                  "version = 1\n; a comment\n# another\nport = 1001 ; here too\r\n"
                  "[some-model]\nctx-size = 9\n[*]\nthreads = 2\n[default]\nno-slots = 1\n");
    const Result<Parsed> parsed = parse({}, {}, {file});
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->options.http.port, 1001);
    EXPECT_EQ(parsed->options.context.n_ctx, 0);
    EXPECT_EQ(parsed->options.context.n_threads, 2);
    EXPECT_FALSE(parsed->options.server.slots);
    EXPECT_TRUE(parsed->warnings.empty());
}

TEST(Options, ConfigFilesWarnOfWhatIsNotThere) {
    const TempDir dir;
    const std::string file = dir.write(
        "config.ini", "cache-reuse = 256\nno-context-shift = 1\nfrobnicate = 3\nnonsense\nport = 1001\n");
    const Result<Parsed> parsed = parse({}, {}, {file});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.http.port, 1001);
    ASSERT_EQ(parsed->warnings.size(), 3U);
    EXPECT_NE(parsed->warnings[0].find("cache-reuse is not available"), std::string::npos);
    EXPECT_NE(parsed->warnings[1].find("frobnicate is not known"), std::string::npos);
    EXPECT_NE(parsed->warnings[2].find("'nonsense'"), std::string::npos);
}

TEST(Options, ConfigFilesNameThemselvesInErrors) {
    const TempDir dir;
    const std::string file = dir.write("config.ini", "port = eighty\n");
    const Result<Parsed> parsed = parse({}, {}, {file});
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().message, file + ": port: expected a whole number from 0 to 65535, got 'eighty'");
}

// ---- values that are strings of any kind

TEST(Options, ValuesMayLookLikeAnything) {
    for (const std::string value :
         {"--", "-x", "[INST]", "[a,b]", "a=b", "%%", "{x}", "--unknown", "\"q\""}) {
        const Result<Parsed> parsed = parse({"-r", value, "-c", "7"});
        ASSERT_TRUE(parsed.ok()) << value << ": " << parsed.error().message;
        EXPECT_EQ(parsed->options.text.stop.stop, std::vector<std::string>{value});
        EXPECT_EQ(parsed->options.context.n_ctx, 7);
    }
    const Result<Parsed> empty = parse({"--api-prefix", "", "--chat-template="});
    ASSERT_TRUE(empty.ok()) << empty.error().message;
    EXPECT_EQ(empty->options.http.api_prefix, "");
}

TEST(Options, EscapesInStopTexts) {
    const Result<Parsed> parsed =
        parse({"-r", R"(\n\t\"x\\)", "-r", R"(\q\x41)", "--dry-sequence-breaker", R"(\n)"});
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->options.text.stop.stop, (std::vector<std::string>{"\n\t\"x\\", "\\qA"}));
    EXPECT_EQ(parsed->options.text.sampling.dry_sequence_breakers, std::vector<std::string>{"\n"});
    const Result<Parsed> raw = parse({"--no-escape", "-r", R"(\n)"});
    ASSERT_TRUE(raw.ok());
    EXPECT_EQ(raw->options.text.stop.stop, std::vector<std::string>{R"(\n)"});
}

TEST(Options, DryBreakersReplaceTheDefaults) {
    const Result<Parsed> two = parse({"--dry-sequence-breaker", "a", "--dry-sequence-breaker", "b"});
    ASSERT_TRUE(two.ok());
    EXPECT_EQ(two->options.text.sampling.dry_sequence_breakers, (std::vector<std::string>{"a", "b"}));
    const Result<Parsed> none = parse({"--dry-sequence-breaker", "none"});
    ASSERT_TRUE(none.ok());
    EXPECT_TRUE(none->options.text.sampling.dry_sequence_breakers.empty());
}

TEST(Options, OlderSpellingsOfTheLoadMode) {
    const auto mode = [](const std::vector<std::string>& args) {
        const Result<Parsed> parsed = parse(args);
        EXPECT_TRUE(parsed.ok());
        return parsed->options.model.load_mode;
    };
    EXPECT_EQ(mode({"--no-mmap"}), LoadMode::none);
    EXPECT_EQ(mode({"--mlock"}), LoadMode::mmap_mlock);
    EXPECT_EQ(mode({"--no-mmap", "--mlock"}), LoadMode::mlock);
    EXPECT_EQ(mode({"--mlock", "--no-mmap"}), LoadMode::mlock);
}

// ---- bad values: one line that names the flag and what was expected

struct Bad {
    std::vector<std::string> args;
    std::string message;
};

TEST(Options, BadValuesAreNamed) {
    const std::vector<Bad> table = {
        {{"-np", "0"}, "--parallel: expected a number of slots from 1 to 256, or -1 for auto, got '0'"},
        {{"-np", "257"}, "--parallel: expected a number of slots from 1 to 256, or -1 for auto, got '257'"},
        {{"-np", "-2"}, "--parallel: expected a number of slots from 1 to 256, or -1 for auto, got '-2'"},
        {{"-c", "many"}, "--ctx-size: expected a whole number of at least 0, got 'many'"},
        {{"-c", "1.5"}, "--ctx-size: expected a whole number of at least 0, got '1.5'"},
        {{"-c", "-1"}, "--ctx-size: expected a whole number of at least 0, got '-1'"},
        {{"-c", ""}, "--ctx-size: expected a whole number of at least 0, got ''"},
        {{"-c", "12x"}, "--ctx-size: expected a whole number of at least 0, got '12x'"},
        {{"-c", "99999999999999999999"},
         "--ctx-size: expected a whole number of at least 0, got '99999999999999999999'"},
        {{"-b", "0"}, "--batch-size: expected a whole number of at least 1, got '0'"},
        {{"--port", "65536"}, "--port: expected a whole number from 0 to 65535, got '65536'"},
        {{"-m", ""}, "--model: expected the path of a GGUF file, got ''"},
        {{"-fa", "maybe"}, "--flash-attn: expected on, off or auto, got 'maybe'"},
        {{"-ctk", "q9"},
         "--cache-type-k: expected one of f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1, got 'q9'"},
        {{"-ngl", "some"}, "--gpu-layers: expected auto, all or a number of layers, got 'some'"},
        {{"-ts", "3,x"}, "--tensor-split: expected shares such as 3,1, got '3,x'"},
        {{"--override-kv", "a=b"},
         "--override-kv: expected KEY=TYPE:VALUE with TYPE int, float, bool or str, got 'a=b'"},
        {{"--override-kv", "a=int:x"},
         "--override-kv: expected KEY=TYPE:VALUE with TYPE int, float, bool or str, got 'a=int:x'"},
        {{"--metrics=perhaps"},
         "--metrics: expected on, enabled, true, 1, off, disabled, false or 0, got 'perhaps'"},
        {{"--api-prefix", "x"}, "--api-prefix: expected a path that begins with /, got 'x'"},
        {{"--host", " , "}, "--host: expected at least one address, got ' , '"},
        {{"--slot-save-path", "/nowhere/at/all"},
         "--slot-save-path: expected a directory that exists, got '/nowhere/at/all'"},
        {{"--slot-save-path", ""}, "--slot-save-path: expected a directory that exists, got ''"},
        {{"-sps", "1.5"}, "--slot-prompt-similarity: expected a number from 0 to 1, got '1.5'"},
        {{"-nocb"}, "--cont-batching: expected on, as Kvalet always batches continuously, got 'off'"},
        {{"--grammar-file", "/nowhere"}, "--grammar-file: expected a file that can be read, got '/nowhere'"},
        {{"--grammar-file", "/"}, "--grammar-file: expected a file that can be read, got '/'"},
        {{"--temp", "hot"}, "--temp: expected a number, got 'hot'"},
        {{"--temp", "nan"}, "--temp: expected a number, got 'nan'"},
        {{"--top-p", "inf"}, "--top-p: expected a number, got 'inf'"},
        {{"--repeat-penalty", "0"}, "--repeat-penalty: expected a number above 0, got '0'"},
        {{"--mirostat", "3"}, "--mirostat: expected a whole number from 0 to 2, got '3'"},
        {{"-l", "15043"}, "--logit-bias: expected TOKEN+BIAS or TOKEN-BIAS, such as 15043-1, got '15043'"},
        {{"-l", "15043--1"},
         "--logit-bias: expected TOKEN+BIAS or TOKEN-BIAS, such as 15043-1, got '15043--1'"},
        {{"--sampler-seq", "kq"}, "--sampler-seq: expected letters of samplers (edskypmxta), got 'kq'"},
        {{"-s", "-2"}, "--seed: expected a whole number from 0 to 4294967295, or -1 for random, got '-2'"},
        {{"--reverse-prompt", ""}, "--reverse-prompt: expected a string that is not empty, got ''"},
        {{"--kv-unified-per-slot", "2000000000"},
         "--kv-unified-per-slot: expected a pool of at most 2147483647 cells for all slots, got 8000000000"},
        {{"-ncmoe", "9999"}, "--n-cpu-moe: expected a whole number from 0 to 4096, got '9999'"},
        {{"-c"}, "-c: expected a value after it"},
    };
    for (const Bad& bad : table) EXPECT_EQ(error_of(bad.args), bad.message);
}

TEST(Options, BadVariablesAreNamed) {
    EXPECT_EQ(error_of({}, {{"LLAMA_ARG_N_PARALLEL", "0"}}),
              "LLAMA_ARG_N_PARALLEL: expected a number of slots from 1 to 256, or -1 for auto, got '0'");
    EXPECT_EQ(
        error_of({}, {{"LLAMA_ARG_ENDPOINT_METRICS", "si"}}),
        "LLAMA_ARG_ENDPOINT_METRICS: expected on, enabled, true, 1, off, disabled, false or 0, got 'si'");
}

TEST(Options, MessagesAreOneShortLine) {
    const std::string message = error_of({"-c", "a\nb\x1b[31m" + std::string(5000, 'x')});
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_LT(message.size(), 200U);
}

TEST(Options, AnEmptyKeyFileDoesNotOpenTheServer) {
    const TempDir dir;
    const std::string file = dir.write("keys", "# none\n\n");
    EXPECT_EQ(
        error_of({"--api-key-file", file}).find("--api-key-file: expected a file with one key on each line"),
        0U);
}

// ---- unknown arguments

TEST(Options, UnknownArgumentsGetASuggestion) {
    EXPECT_EQ(error_of({"--ctx-sise", "5"}),
              "unknown argument: '--ctx-sise' (did you mean --ctx-size?); --help lists all flags");
    EXPECT_EQ(
        error_of({"--preempt_victims=x"}),
        "unknown argument: '--preempt_victims=x' (did you mean --preempt-victim?); --help lists all flags");
    EXPECT_EQ(error_of({"--zzzzzzzzzz"}), "unknown argument: '--zzzzzzzzzz'; --help lists all flags");
    EXPECT_EQ(error_of({"-model", "x"}),
              "unknown argument: '-model' (did you mean --model?); --help lists all flags");
    EXPECT_EQ(error_of({"--metrics", "on"}), "unexpected argument: 'on'");
    EXPECT_EQ(error_of({"-c", "5", "model.gguf"}), "unexpected argument: 'model.gguf'");
}

TEST(Options, HelpAndVersionNeedNothingElse) {
    const Result<Parsed> help = parse({"-h", "-np", "0"}, {{"LLAMA_ARG_PORT", "x"}});
    ASSERT_TRUE(help.ok());
    EXPECT_TRUE(help->options.help);
    const Result<Parsed> version = parse({"--version"});
    ASSERT_TRUE(version.ok());
    EXPECT_TRUE(version->options.version);
}

}  // namespace
}  // namespace kvalet::cli
