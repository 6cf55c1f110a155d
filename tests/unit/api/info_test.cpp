// /models, /props, /slots, /requests, /tokenize, /detokenize and the replies of slot actions.
#include <gtest/gtest.h>

#include "api/models.h"
#include "api/settings.h"
#include "api/slots.h"
#include "api/tokens.h"
#include "api_test_model.h"

namespace kvalet::api {
namespace {

std::vector<std::string> keys_of(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& item : object.items()) {
        keys.push_back(item.key());
    }
    return keys;
}

TEST(Models, NameIsTheFirstAliasThenTheRepoThenThePath) {
    ApiConfig config;
    config.model_path = "a/b.gguf";
    EXPECT_EQ(model_name(config), "a/b.gguf");
    config.hf_repo = "me/model";
    EXPECT_EQ(model_name(config), "me/model");
    config.aliases = {"zeta", "alpha"};
    EXPECT_EQ(model_name(config), "alpha");
}

TEST(Models, Body) {
    const Fixture fixture;
    EXPECT_EQ(
        models_body(fixture.config, fixture.model.info(), 512, 1700000000),
        R"({"models":[{"name":"alpha","model":"alpha","modified_at":"","size":"","digest":"","type":"model",)"
        R"("description":"","tags":[""],"capabilities":["completion"],"parameters":"","details":{"parent_model":"",)"
        R"("format":"gguf","family":"","families":[""],"parameter_size":"","quantization_level":""}}],"object":"list",)"
        R"("data":[{"id":"alpha","aliases":["alpha","zeta"],"tags":[],"object":"model",)"
        R"("architecture":{"input_modalities":["text"],"output_modalities":["text"]},"created":1700000000,)"
        R"("owned_by":"llamacpp","meta":{"vocab_type":0,"n_vocab":260,"n_ctx":512,"n_ctx_train":4096,"n_embd":8,)"
        R"("n_params":1000,"size":4000,"ftype":"F32"}}]})");
}

TEST(Props, Body) {
    Fixture fixture;
    fixture.config.defaults.sampling.seed = 42;
    const Json props = *parse_json(props_body(fixture.config, fixture.model.info(), 512));
    EXPECT_EQ(keys_of(props),
              (std::vector<std::string>{"default_generation_settings", "total_slots", "model_alias",
                                        "model_ftype", "model_path", "modalities", "media_marker",
                                        "endpoint_slots", "endpoint_props", "endpoint_metrics", "ui",
                                        "ui_settings", "chat_template", "chat_template_caps", "bos_token",
                                        "eos_token", "build_info", "is_sleeping", "cors_proxy_enabled"}));
    EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512);
    EXPECT_EQ(props["default_generation_settings"]["params"]["seed"], 42);
    EXPECT_EQ(props["total_slots"], 4);
    EXPECT_EQ(props["bos_token"], "<s>");
    EXPECT_EQ(props["build_info"], "b7-abc");
    EXPECT_EQ(props["chat_template_caps"].size(), 9U);
}

TEST(Settings, KeysInOrder) {
    const Fixture fixture;
    const auto job = fixture.parse(R"({"prompt":"a","ignore_eos":true,"logit_bias":[[1,2]],"n_predict":3})");
    const Json full = generation_settings(job->params, fixture.eog);
    EXPECT_EQ(keys_of(full), (std::vector<std::string>{"seed",
                                                       "temperature",
                                                       "dynatemp_range",
                                                       "dynatemp_exponent",
                                                       "top_k",
                                                       "top_p",
                                                       "min_p",
                                                       "top_n_sigma",
                                                       "xtc_probability",
                                                       "xtc_threshold",
                                                       "typical_p",
                                                       "repeat_last_n",
                                                       "repeat_penalty",
                                                       "presence_penalty",
                                                       "frequency_penalty",
                                                       "dry_multiplier",
                                                       "dry_base",
                                                       "dry_allowed_length",
                                                       "dry_penalty_last_n",
                                                       "dry_sequence_breakers",
                                                       "mirostat",
                                                       "mirostat_tau",
                                                       "mirostat_eta",
                                                       "adaptive_target",
                                                       "adaptive_decay",
                                                       "stop",
                                                       "max_tokens",
                                                       "n_predict",
                                                       "n_keep",
                                                       "n_discard",
                                                       "ignore_eos",
                                                       "stream",
                                                       "logit_bias",
                                                       "n_probs",
                                                       "min_keep",
                                                       "grammar",
                                                       "grammar_lazy",
                                                       "grammar_triggers",
                                                       "preserved_tokens",
                                                       "chat_format",
                                                       "reasoning_format",
                                                       "reasoning_in_content",
                                                       "generation_prompt",
                                                       "samplers",
                                                       "speculative.types",
                                                       "timings_per_token",
                                                       "post_sampling_probs",
                                                       "backend_sampling",
                                                       "lora"}));
    EXPECT_EQ(dump(full["logit_bias"]),
              R"([{"bias":2.0,"token":1},{"bias":null,"token":257},{"bias":null,"token":259}])");
    EXPECT_EQ(dump(full["temperature"]), "0.800000011920929") << "a float, as llama-server prints it";
    EXPECT_EQ(full["n_predict"], 3);

    const Json reduced = reduced_settings(job->params);
    EXPECT_EQ(reduced.size(), full.size() - 7);
    for (const char* key : {"dry_sequence_breakers", "stop", "logit_bias", "grammar", "grammar_lazy",
                            "grammar_triggers", "preserved_tokens"}) {
        EXPECT_FALSE(reduced.contains(key)) << key;
    }
}

engine::Snapshot snapshot_of_two() {
    engine::Snapshot snapshot;
    snapshot.n_ctx_slot = Tokens{512};
    snapshot.n_processing = 0;
    snapshot.n_preempted = 1;
    snapshot.n_deferred = 1;
    snapshot.slots.resize(2);
    snapshot.slots[1].id = SlotId{1};
    snapshot.slots[1].is_processing = true;
    snapshot.slots[1].used = true;
    snapshot.slots[1].n_tokens = Tokens{40};
    engine::SequenceInfo parked;
    parked.task = TaskId{7};
    parked.public_id = "chatcmpl-a";
    parked.state = engine::SequenceState::swapped;
    parked.slot = SlotId{1};
    parked.priority = 3;
    parked.effective_priority = 4;
    parked.n_prompt = Tokens{20};
    parked.n_prompt_processed = Tokens{18};
    parked.n_prompt_cached = Tokens{2};
    parked.n_decoded = Tokens{21};
    parked.n_remain = 79;
    parked.has_new_line = true;
    parked.n_cells = Cells{40};
    parked.is_preempted = true;
    parked.n_preempt = 3;
    parked.n_recompute = 11;
    parked.preempt_mode = sched::ParkMode::swap;
    parked.preempt_reason = sched::ParkReason::kv_full;
    parked.preempt_ms = 12.5;
    parked.parked_bytes = Bytes{4096};
    parked.params_json = std::make_shared<const std::string>(R"({"seed":1})");
    snapshot.slots[1].sequence = parked;
    engine::SequenceInfo waiting;
    waiting.task = TaskId{6};
    waiting.public_id = "chatcmpl-b";
    waiting.n_prompt = Tokens{5};
    snapshot.waiting.push_back(waiting);
    return snapshot;
}

TEST(Slots, Body) {
    EXPECT_EQ(
        slots_body(snapshot_of_two()),
        R"([{"id":0,"n_ctx":512,"speculative":false,"is_processing":false,"is_preempted":false,"n_preempt":0,)"
        R"("n_recompute":0,"preempt_mode":null,"preempt_reason":null,"preempt_ms":0.0,"priority":0,)"
        R"("effective_priority":0},{"id":1,"n_ctx":512,"speculative":false,"is_processing":true,"id_task":7,)"
        R"("n_prompt_tokens":40,"n_prompt_tokens_processed":18,"n_prompt_tokens_cache":2,"params":{"seed":1},)"
        R"("next_token":[{"has_next_token":true,"has_new_line":true,"n_remain":79,"n_decoded":21}],)"
        R"("is_preempted":true,"n_preempt":3,"n_recompute":11,"preempt_mode":"swap","preempt_reason":"kv_full",)"
        R"("preempt_ms":12.5,"priority":3,"effective_priority":4}])");
    engine::Snapshot busy = snapshot_of_two();
    EXPECT_TRUE(has_idle_slot(busy));
    busy.slots[0].is_processing = true;
    EXPECT_FALSE(has_idle_slot(busy));
}

TEST(Requests, Body) {
    EXPECT_EQ(
        requests_body(snapshot_of_two()),
        R"({"object":"list","n_resident":0,"n_parked":1,"n_waiting":1,"data":[{"id":"chatcmpl-b","id_task":6,)"
        R"("state":"waiting","id_slot":-1,"n_prompt":5,"n_prompt_processed":0,"n_prompt_cached":0,"n_decoded":0,)"
        R"("n_cells":0,"bytes":0,"parked_by_client":false,"is_preempted":false,"n_preempt":0,"n_recompute":0,)"
        R"("preempt_mode":null,"preempt_reason":null,"preempt_ms":0.0,"priority":0,"effective_priority":0},)"
        R"({"id":"chatcmpl-a","id_task":7,"state":"swapped","id_slot":1,"n_prompt":20,"n_prompt_processed":18,)"
        R"("n_prompt_cached":2,"n_decoded":21,"n_cells":40,"bytes":4096,"parked_by_client":false,)"
        R"("is_preempted":true,"n_preempt":3,"n_recompute":11,"preempt_mode":"swap","preempt_reason":"kv_full",)"
        R"("preempt_ms":12.5,"priority":3,"effective_priority":4}]})");
}

TEST(Slots, Actions) {
    engine::SlotFileReply file{SlotId{1}, Tokens{20}, Bytes{300}, 1.5};
    EXPECT_EQ(save_body(file, "a.bin"),
              R"({"id_slot":1,"filename":"a.bin","n_saved":20,"n_written":300,"timings":{"save_ms":1.5}})");
    EXPECT_EQ(
        restore_body(file, "a.bin"),
        R"({"id_slot":1,"filename":"a.bin","n_restored":20,"n_read":300,"timings":{"restore_ms":1.5}})");
    EXPECT_EQ(erase_body(file), R"({"id_slot":1,"n_erased":20})");

    engine::ParkReply park;
    park.slot = SlotId{1};
    park.task = TaskId{7};
    park.public_id = "chatcmpl-a";
    park.n_cells = Cells{40};
    EXPECT_EQ(park_body(park),
              R"({"id":"chatcmpl-a","id_slot":1,"id_task":7,"preempt_mode":null,"n_cells":40,"bytes":0,)"
              R"("is_preempted":false,"priority":0})");
    park.ever_parked = true;
    park.mode = sched::ParkMode::drop;
    EXPECT_NE(park_body(park).find(R"("preempt_mode":"recompute")"), std::string::npos);
}

TEST(Slots, ActionInput) {
    EXPECT_EQ(*parse_slot_filename(R"({"filename":"a.bin"})"), "a.bin");
    EXPECT_EQ(parse_slot_filename("{}").error().message, "Field 'filename': is required");
    EXPECT_EQ(parse_slot_filename(R"({"filename":3})").error().message,
              "Field 'filename': must be a string, but is an integer");
    EXPECT_EQ(parse_slot_filename(R"({"filename":"../a"})").error().message, "Invalid filename");
    EXPECT_EQ(parse_slot_filename("x").error().kind, ErrorKind::invalid_request);

    EXPECT_EQ(*parse_priority(R"({"priority":5})", 100), 5);
    EXPECT_EQ(parse_priority(R"({"priority":500})", 100).error().message,
              "Field 'priority': must be between -2147483648 and 100, but is 500");
    EXPECT_EQ(parse_priority("{}", 100).error().message, "Field 'priority': is required");

    EXPECT_EQ(*parse_slot_id("3"), 3);
    for (const char* text : {"", "-1", "1x", "x", "99999999999"}) {
        EXPECT_EQ(parse_slot_id(text).error().message, "Invalid slot ID") << text;
    }
}

TEST(Tokenize, Replies) {
    const test::FakeTextModel model;
    EXPECT_EQ(*tokenize_reply(R"({"content":"ab"})", model), R"({"tokens":[97,98]})");
    EXPECT_EQ(*tokenize_reply(R"({"content":"a","add_special":true})", model), R"({"tokens":[256,97]})");
    EXPECT_EQ(*tokenize_reply(R"({"content":"</s>"})", model), R"({"tokens":[257]})");
    EXPECT_EQ(*tokenize_reply(R"({"content":"<s>","parse_special":false})", model),
              R"({"tokens":[60,115,62]})");
    EXPECT_EQ(*tokenize_reply(R"({"content":["a",5]})", model), R"({"tokens":[97,5]})");
    EXPECT_EQ(*tokenize_reply("{}", model), R"({"tokens":[]})");
    EXPECT_EQ(*tokenize_reply(R"({"content":"aé</s>","with_pieces":true})", model),
              R"({"tokens":[{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":169,"piece":[169]},)"
              R"({"id":257,"piece":"</s>"}]})");
    EXPECT_EQ(tokenize_reply(R"({"content":5})", model).error().message,
              "Field 'content': must be a string or an array, but is an integer");
    EXPECT_EQ(tokenize_reply(R"({"content":"a","add_special":1})", model).error().message,
              "Field 'add_special': must be a boolean, but is an integer");

    EXPECT_EQ(*detokenize_reply(R"({"tokens":[97,257]})", model), R"({"content":"a</s>"})");
    EXPECT_EQ(*detokenize_reply(R"({"tokens":[195]})", model), "{\"content\":\"\xef\xbf\xbd\"}");
    EXPECT_EQ(*detokenize_reply("{}", model), R"({"content":""})");
    EXPECT_EQ(detokenize_reply(R"({"tokens":[260]})", model).error().message,
              "Field 'tokens': token 260 is outside the vocabulary (0 to 259)");
    EXPECT_EQ(detokenize_reply(R"({"tokens":["a"]})", model).error().message,
              "Field 'tokens': must be an array of token ids");
    EXPECT_EQ(detokenize_reply(R"({"tokens":"a"})", model).error().message,
              "Field 'tokens': must be an array of token ids");
}

}  // namespace
}  // namespace kvalet::api
