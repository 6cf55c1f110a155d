// What the rooms are told: flags arrive in their configurations.
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/model_defaults.h"
#include "cli/serve.h"
#include "cli/version.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

ServeOptions options_of(const std::vector<std::string>& args, const Variables& variables = {}) {
    const Result<Parsed> parsed = parse(args, variables);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed->options;
}

TEST(Wiring, Engine) {
    const engine::EngineConfig config = engine_config_of(options_of(
        {"-np", "3", "-kvu", "--no-cache-prompt", "--queue-max", "7", "-sps", "0.5", "--park-ttl", "9",
         "--kv-unified-per-slot", "500", "--preempt-preset", "watermark", "--preempt-min-run", "3"},
        {{"LLAMA_SERVER_PREEMPT_EVERY", "64"}}));
    EXPECT_EQ(config.n_slots, 3);
    EXPECT_TRUE(config.unified);
    EXPECT_FALSE(config.cache_prompt);
    EXPECT_EQ(config.queue_max, 7);
    EXPECT_FLOAT_EQ(config.slot_prompt_similarity, 0.5F);
    EXPECT_EQ(config.park_ttl_s, 9);
    EXPECT_EQ(config.slot_ctx_max, 500);
    EXPECT_EQ(config.preempt_every, 64);
    EXPECT_EQ(config.policy.trigger, sched::Trigger::watermark);
    EXPECT_EQ(config.policy.min_run, Tokens{3});
    EXPECT_FALSE(engine_config_of(options_of({"--no-preempt"})).policy.preempt);
}

TEST(Wiring, Http) {
    const http::ServerConfig config = http_config_of(options_of({"--host",
                                                                 "127.0.0.1, ::1",
                                                                 "--port",
                                                                 "81",
                                                                 "--reuse-port",
                                                                 "--max-header-kib",
                                                                 "8",
                                                                 "--max-body-mib",
                                                                 "2000",
                                                                 "--max-connections",
                                                                 "9",
                                                                 "--header-timeout",
                                                                 "1",
                                                                 "--body-timeout",
                                                                 "2",
                                                                 "--idle-timeout",
                                                                 "3",
                                                                 "--timeout",
                                                                 "4",
                                                                 "--slow-client-timeout",
                                                                 "5"}));
    EXPECT_EQ(config.host, "127.0.0.1,::1");
    EXPECT_EQ(config.port, 81);
    EXPECT_TRUE(config.reuse_port);
    EXPECT_EQ(config.max_header_bytes, 8U * 1024);
    EXPECT_EQ(config.max_body_bytes, 2000U * 1024 * 1024);
    EXPECT_GE(config.max_total_body_bytes, config.max_body_bytes);
    EXPECT_EQ(config.max_connections, 9U);
    EXPECT_EQ(config.header_timeout, std::chrono::seconds(1));
    EXPECT_EQ(config.body_timeout, std::chrono::seconds(2));
    EXPECT_EQ(config.keep_alive_timeout, std::chrono::seconds(3));
    EXPECT_EQ(config.write_timeout, std::chrono::seconds(4));
    EXPECT_EQ(config.slow_client_timeout, std::chrono::seconds(5));
}

TEST(Wiring, HttpLimitsAreTheRoomsOwnUnlessGiven) {
    const http::ServerConfig ours = http_config_of(options_of({}));
    const http::ServerConfig theirs;
    EXPECT_EQ(ours.max_header_bytes, theirs.max_header_bytes);
    EXPECT_EQ(ours.max_body_bytes, theirs.max_body_bytes);
    EXPECT_EQ(ours.max_connections, theirs.max_connections);
    EXPECT_EQ(ours.header_timeout, theirs.header_timeout);
    EXPECT_EQ(ours.body_timeout, theirs.body_timeout);
    EXPECT_EQ(ours.keep_alive_timeout, theirs.keep_alive_timeout);
    EXPECT_EQ(ours.write_timeout, theirs.write_timeout);
    EXPECT_EQ(ours.slow_client_timeout, theirs.slow_client_timeout);
}

TEST(Wiring, Api) {
    const api::ApiConfig config = api_config_of(options_of({"-m",
                                                            "m.gguf",
                                                            "-a",
                                                            "x,b",
                                                            "--tags",
                                                            "t",
                                                            "--api-prefix",
                                                            "/v",
                                                            "--api-key",
                                                            "k",
                                                            "--cors-origins",
                                                            "localhost",
                                                            "--no-cors-credentials",
                                                            "--no-slots",
                                                            "--props",
                                                            "--metrics",
                                                            "-v",
                                                            "--no-prefill-assistant",
                                                            "--temp",
                                                            "0",
                                                            "-n",
                                                            "5",
                                                            "-r",
                                                            "END",
                                                            "--no-cache-prompt",
                                                            "--keep",
                                                            "3",
                                                            "--sse-ping-interval",
                                                            "-1",
                                                            "--sse-notices",
                                                            "off",
                                                            "-np",
                                                            "6",
                                                            "--priority-max",
                                                            "2",
                                                            "--threads-http",
                                                            "4"}));
    EXPECT_EQ(config.model_path, "m.gguf");
    EXPECT_EQ(config.aliases, (std::vector<std::string>{"x", "b"}));
    EXPECT_EQ(config.tags, std::vector<std::string>{"t"});
    EXPECT_EQ(config.api_prefix, "/v");
    EXPECT_EQ(config.api_keys, std::vector<std::string>{"k"});
    EXPECT_EQ(config.cors.origins, "localhost");
    EXPECT_FALSE(config.cors.credentials);
    EXPECT_FALSE(config.endpoint_slots);
    EXPECT_TRUE(config.endpoint_props);
    EXPECT_TRUE(config.endpoint_metrics);
    EXPECT_TRUE(config.verbose);
    EXPECT_FALSE(config.prefill_assistant);
    EXPECT_FLOAT_EQ(config.defaults.sampling.temperature, 0.0F);
    EXPECT_EQ(config.defaults.stop.n_predict, 5);
    EXPECT_EQ(config.defaults.stop.stop, std::vector<std::string>{"END"});
    EXPECT_FALSE(config.cache_prompt);
    EXPECT_EQ(config.n_keep, 3);
    EXPECT_EQ(config.sse_ping_interval_s, -1);
    EXPECT_EQ(config.sse_notices, api::SseNotices::off);
    EXPECT_FALSE(config.http_keepalive_body);
    EXPECT_TRUE(api_config_of(options_of({"--http-keepalive-body"})).http_keepalive_body);
    EXPECT_EQ(config.n_slots, 6);
    EXPECT_EQ(config.priority_max, 2);
    EXPECT_EQ(config.workers, 4);
    EXPECT_EQ(config.build_info, build_info());
}

TEST(Wiring, BuildInfoHasLlamaServersForm) {
    EXPECT_EQ(build_info().front(), 'b');
    EXPECT_NE(build_info().find('-'), std::string::npos);
}

// Built in < the model's file < the flags.
TEST(ModelDefaults, FlagsWinOverTheModelsFile) {
    text::ModelSampling model;
    model.temperature = 0.3F;
    model.top_k = 7;
    model.mirostat_eta = 0.5F;
    model.samplers = {"top_k"};
    const text::TextDefaults none = with_model_defaults(options_of({}), model);
    EXPECT_FLOAT_EQ(none.sampling.temperature, 0.3F);
    EXPECT_EQ(none.sampling.top_k, 7);
    EXPECT_FLOAT_EQ(none.sampling.mirostat_eta, 0.5F);
    EXPECT_FLOAT_EQ(none.sampling.top_p, 0.95F);
    EXPECT_EQ(none.sampling.samplers, std::vector<std::string>{"top_k"});
    // A flag counts although it says what is the default anyway.
    const text::TextDefaults given =
        with_model_defaults(options_of({"--temp", "0.8", "--sampler-seq", "pt", "-n", "9"}), model);
    EXPECT_FLOAT_EQ(given.sampling.temperature, 0.8F);
    EXPECT_EQ(given.sampling.top_k, 7);
    EXPECT_EQ(given.sampling.samplers, (std::vector<std::string>{"top_p", "temperature"}));
    EXPECT_EQ(given.stop.n_predict, 9);
}

// Every field that a file can set is given back to its flag.
TEST(ModelDefaults, EveryFieldHasItsFlag) {
    text::ModelSampling model;
    model.top_k = 1;
    model.top_p = model.min_p = model.xtc_probability = model.xtc_threshold = model.temperature = 0.001F;
    model.repeat_last_n = 1;
    model.repeat_penalty = 9.0F;
    model.mirostat = 2;
    model.mirostat_tau = model.mirostat_eta = 0.001F;
    model.samplers = {"xtc"};
    const text::SamplingParams s =
        with_model_defaults(
            options_of({"--top-k",           "40", "--top-p",          "0.95", "--min-p",    "0.05",
                        "--xtc-probability", "0",  "--xtc-threshold",  "0.1",  "--temp",     "0.8",
                        "--repeat-last-n",   "64", "--repeat-penalty", "1",    "--mirostat", "0",
                        "--mirostat-ent",    "5",  "--mirostat-lr",    "0.1",  "--samplers", "top_p"}),
            model)
            .sampling;
    const text::SamplingParams defaults;
    EXPECT_EQ(s.top_k, defaults.top_k);
    EXPECT_FLOAT_EQ(s.top_p, defaults.top_p);
    EXPECT_FLOAT_EQ(s.min_p, defaults.min_p);
    EXPECT_FLOAT_EQ(s.xtc_probability, defaults.xtc_probability);
    EXPECT_FLOAT_EQ(s.xtc_threshold, defaults.xtc_threshold);
    EXPECT_FLOAT_EQ(s.temperature, defaults.temperature);
    EXPECT_EQ(s.repeat_last_n, defaults.repeat_last_n);
    EXPECT_FLOAT_EQ(s.repeat_penalty, defaults.repeat_penalty);
    EXPECT_EQ(s.mirostat, defaults.mirostat);
    EXPECT_FLOAT_EQ(s.mirostat_tau, defaults.mirostat_tau);
    EXPECT_FLOAT_EQ(s.mirostat_eta, defaults.mirostat_eta);
    EXPECT_EQ(s.samplers, std::vector<std::string>{"top_p"});
}

TEST(Command, SubcommandsGetTheRestOfTheArguments) {
    std::vector<std::string> seen;
    Subcommands subcommands;
    subcommands.simulate = [&seen](const std::vector<std::string>& args) {
        seen = args;
        return 7;
    };
    EXPECT_EQ(run_command({"simulate", "--seed", "1"}, Environment{}, Loader{}, subcommands), 7);
    EXPECT_EQ(seen, (std::vector<std::string>{"--seed", "1"}));
    EXPECT_EQ(run_command({"check-exact"}, Environment{}, Loader{}, subcommands), kExitFailed);
    EXPECT_EQ(run_command({"frobnicate"}, Environment{}, Loader{}, subcommands), kExitFailed);
}

}  // namespace
}  // namespace kvalet::cli
