// The real model: from the options to a backend and a text model on libllama.
#pragma once

#include "cli/options.h"
#include "cli/serve.h"
#include "engine/llama_options.h"

namespace kvalet::cli {

[[nodiscard]] engine::LlamaOptions llama_options_of(const ServeOptions& options);

[[nodiscard]] Loader llama_loader();

}  // namespace kvalet::cli
