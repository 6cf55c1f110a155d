// kvalet-fake-server: the whole server on the fake backend and the fake text model, for tests from outside
// and for the sanitizers. Takes the same flags as kvalet; the model's path is only a name. Of its own:
//   KVALET_FAKE_DECODE_US  what each step takes
//   KVALET_FAKE_TOKEN_US   what each token of a step takes
//   KVALET_FAKE_LOAD       a file: the model counts as loaded once it is there
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/command.h"
#include "cli/values.h"
#include "engine/fake_backend.h"
#include "fake_server/paced_backend.h"
#include "support/fake_text_model.h"

namespace kvalet::test {
namespace {

/// What -c 0 stands for, as there is no model that was trained.
constexpr std::int64_t kTrainedContext = 4096;

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::chrono::microseconds microseconds_of(const char* name) {
    return std::chrono::microseconds(cli::integer_of(variable(name).value_or("0")).value_or(0));
}

Result<cli::Loaded> load_fake(const cli::ServeOptions& options) {
    if (const auto file = variable("KVALET_FAKE_LOAD")) {
        while (!std::filesystem::exists(*file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (options.model.path == "broken.gguf") {
        return make_error(ErrorKind::invalid_request, "--model: libllama cannot load 'broken.gguf'");
    }
    engine::FakeOptions fake;
    fake.n_slots = options.context.n_slots;
    fake.unified = options.context.unified;
    fake.pool = options.context.n_ctx > 0 ? options.context.n_ctx : kTrainedContext;
    fake.n_batch = options.context.n_batch;
    fake.n_ubatch = options.context.n_ubatch;
    fake.n_vocab = FakeTextModel::kVocab;
    cli::Loaded loaded;
    loaded.backend = std::make_unique<PacedBackend>(std::make_unique<engine::FakeBackend>(fake),
                                                    microseconds_of("KVALET_FAKE_DECODE_US"),
                                                    microseconds_of("KVALET_FAKE_TOKEN_US"));
    loaded.text = std::make_unique<FakeTextModel>();
    return loaded;
}

}  // namespace
}  // namespace kvalet::test

int main(int argc, char** argv) {
    using namespace kvalet;
    std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    return cli::run_command(args, cli::process_environment(), {{}, test::load_fake}, {});
}
