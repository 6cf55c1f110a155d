// From flags to what libllama is given, by libllama's own numbers.
#include <gtest/gtest.h>
#include <llama.h>

#include "cli/load_llama.h"
#include "parse_helper.h"

namespace kvalet::cli {
namespace {

engine::LlamaOptions llama_of(const std::vector<std::string>& args) {
    const Result<Parsed> parsed = parse(args);
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return llama_options_of(parsed->options);
}

TEST(LlamaOptions, NumbersAreLibllamas) {
    const std::pair<const char*, int> load_modes[] = {
        {"auto", LLAMA_LOAD_MODE_AUTO},     {"none", LLAMA_LOAD_MODE_NONE},
        {"mmap", LLAMA_LOAD_MODE_MMAP},     {"mlock", LLAMA_LOAD_MODE_MLOCK},
        {"dio", LLAMA_LOAD_MODE_DIRECT_IO}, {"mmap+mlock", LLAMA_LOAD_MODE_MMAP_MLOCK}};
    for (const auto& [word, number] : load_modes)
        EXPECT_EQ(llama_of({"-lm", word}).load_mode, number) << word;
    const std::pair<const char*, int> split_modes[] = {{"none", LLAMA_SPLIT_MODE_NONE},
                                                       {"layer", LLAMA_SPLIT_MODE_LAYER},
                                                       {"row", LLAMA_SPLIT_MODE_ROW},
                                                       {"tensor", LLAMA_SPLIT_MODE_TENSOR}};
    for (const auto& [word, number] : split_modes)
        EXPECT_EQ(llama_of({"-sm", word}).split_mode, number) << word;
    const std::pair<const char*, int> scalings[] = {{"none", LLAMA_ROPE_SCALING_TYPE_NONE},
                                                    {"linear", LLAMA_ROPE_SCALING_TYPE_LINEAR},
                                                    {"yarn", LLAMA_ROPE_SCALING_TYPE_YARN}};
    for (const auto& [word, number] : scalings) {
        EXPECT_EQ(llama_of({"--rope-scaling", word}).rope_scaling, number) << word;
    }
    EXPECT_EQ(llama_of({}).rope_scaling, LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED);
    const std::pair<const char*, int> numa[] = {{"distribute", GGML_NUMA_STRATEGY_DISTRIBUTE},
                                                {"isolate", GGML_NUMA_STRATEGY_ISOLATE},
                                                {"numactl", GGML_NUMA_STRATEGY_NUMACTL}};
    for (const auto& [word, number] : numa) EXPECT_EQ(llama_of({"--numa", word}).numa, number) << word;
    EXPECT_EQ(llama_of({"-fa", "auto"}).flash_attn, LLAMA_FLASH_ATTN_TYPE_AUTO);
    EXPECT_EQ(llama_of({"-fa", "on"}).flash_attn, LLAMA_FLASH_ATTN_TYPE_ENABLED);
    EXPECT_EQ(llama_of({"-fa", "off"}).flash_attn, LLAMA_FLASH_ATTN_TYPE_DISABLED);
}

TEST(LlamaOptions, CacheTypesAreGgmls) {
    for (const char* word : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}) {
        EXPECT_EQ(llama_of({"-ctk", word}).cache_type_k, word);
        EXPECT_EQ(llama_of({"-ctv", word}).cache_type_v, word);
    }
}

TEST(LlamaOptions, ContextAndModel) {
    const engine::LlamaOptions o = llama_of({"-m",
                                             "m.gguf",
                                             "-c",
                                             "2048",
                                             "-np",
                                             "4",
                                             "-kvu",
                                             "--kv-unified-per-slot",
                                             "512",
                                             "-b",
                                             "128",
                                             "-ub",
                                             "64",
                                             "-t",
                                             "3",
                                             "-tb",
                                             "5",
                                             "-nkvo",
                                             "--no-op-offload",
                                             "--swa-full",
                                             "--rope-scale",
                                             "2",
                                             "--check-tensors",
                                             "--no-repack",
                                             "--no-warmup",
                                             "-ngl",
                                             "9",
                                             "-ot",
                                             "a=CPU",
                                             "-ncmoe",
                                             "2",
                                             "--override-kv",
                                             "a.b=bool:true"});
    EXPECT_EQ(o.model_path, "m.gguf");
    EXPECT_EQ(o.n_ctx, 2048U);
    EXPECT_EQ(o.n_slots, 4);
    EXPECT_TRUE(o.unified);
    EXPECT_EQ(o.n_ctx_slot_max, 512);
    EXPECT_EQ(o.n_batch, 128U);
    EXPECT_EQ(o.n_ubatch, 64U);
    EXPECT_EQ(o.n_threads, 3);
    EXPECT_EQ(o.n_threads_batch, 5);
    EXPECT_FALSE(o.kv_offload);
    EXPECT_FALSE(o.op_offload);
    EXPECT_TRUE(o.swa_full);
    EXPECT_FLOAT_EQ(o.rope_freq_scale, 0.5F);
    EXPECT_TRUE(o.check_tensors);
    EXPECT_FALSE(o.repack);
    EXPECT_FALSE(o.warmup);
    EXPECT_EQ(o.n_gpu_layers, 9);
    ASSERT_EQ(o.override_tensor.size(), 3U);
    EXPECT_EQ(o.override_tensor[0], (std::pair<std::string, std::string>{"a", "CPU"}));
    EXPECT_EQ(o.override_tensor[2].first, R"(blk\.1\.ffn_(up|down|gate|gate_up)_(ch|)exps)");
    ASSERT_EQ(o.override_kv.size(), 1U);
    EXPECT_EQ(o.override_kv[0].type, engine::LlamaKvOverride::Type::boolean);
}

TEST(LlamaLoader, SaysWhatIsWrongWithAFileBeforeAnythingStarts) {
    const TempDir dir;
    const auto message = [](const std::string& path) {
        ServeOptions options;
        options.model.path = path;
        const Status checked = llama_loader().check(options);
        return checked.ok() ? std::string() : checked.error().message;
    };
    EXPECT_EQ(message(dir.path() + "/none"), "--model: there is no such file: " + dir.path() + "/none");
    EXPECT_EQ(message(dir.path()), "--model: that is not a file: " + dir.path());
    const std::string text = dir.write("text", "no model");
    EXPECT_EQ(message(text), "--model: that is not a GGUF file: " + text);
    const std::string empty = dir.write("empty", "");
    EXPECT_EQ(message(empty), "--model: that is not a GGUF file: " + empty);
    EXPECT_EQ(message(dir.write("model", "GGUF and more")), "");
}

}  // namespace
}  // namespace kvalet::cli
