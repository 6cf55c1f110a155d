#include "loaded_model.h"

#include <cstdlib>

#include "llama.h"

namespace kvalet::text {

namespace {

constexpr std::int32_t kCtx = 2048;

struct ModelDeleter {
    void operator()(llama_model* m) const { llama_model_free(m); }
};

const llama_model* shared_model() {
    static const std::unique_ptr<llama_model, ModelDeleter> model = [] {
        llama_log_set(
            [](ggml_log_level level, const char* text, void*) {
                if (level == GGML_LOG_LEVEL_ERROR) {
                    std::fputs(text, stderr);
                }
            },
            nullptr);
        llama_backend_init();
        const char* path = std::getenv("KVALET_TEST_MODEL");
        return std::unique_ptr<llama_model, ModelDeleter>(
            path == nullptr ? nullptr : llama_model_load_from_file(path, llama_model_default_params()));
    }();
    return model.get();
}

}  // namespace

void ModelTest::SetUp() {
    ASSERT_NE(shared_model(), nullptr) << "KVALET_TEST_MODEL must name a GGUF file that libllama loads; "
                                          "`make -s model` prints the path of the default model";
    model_ = make_model();
}

std::unique_ptr<TextModel> ModelTest::make_model(LlamaTextOptions options) {
    return make_llama_text_model(shared_model(), std::move(options));
}

std::vector<Token> ModelTest::tokens(const std::string& text, bool parse_special) const {
    auto made = model_->tokenize(text, false, parse_special);
    EXPECT_TRUE(made.ok());
    return *made;
}

std::vector<float> ModelTest::random_row() const {
    std::normal_distribution<float> normal(0.0F, 3.0F);
    std::vector<float> row(static_cast<std::size_t>(model_->info().n_vocab));
    for (float& x : row) {
        x = normal(rng_);
    }
    return row;
}

std::vector<float> ModelTest::row_for(Token token) const {
    std::vector<float> row = random_row();
    row[static_cast<std::size_t>(token)] = 100.0F;
    return row;
}

std::unique_ptr<Generation> ModelTest::generation(const SamplingParams& sampling,
                                                  const StopParams& stop) const {
    auto made = model_->make_generation(sampling, stop, kCtx);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return std::move(*made);
}

std::string ModelTest::refusal(const SamplingParams& sampling, const StopParams& stop) const {
    const auto made = model_->make_generation(sampling, stop, kCtx);
    EXPECT_FALSE(made.ok());
    if (made.ok()) {
        return "";
    }
    EXPECT_EQ(made.error().kind, ErrorKind::invalid_request);
    return made.error().message;
}

}  // namespace kvalet::text
