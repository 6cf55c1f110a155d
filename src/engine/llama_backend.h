// The real backend: a model and a context of libllama. The only file beside text/ that knows llama.h.
#pragma once

#include <memory>

#include "core/result.h"
#include "engine/backend.h"
#include "engine/llama_options.h"

struct llama_model;

namespace kvalet::engine {

class LlamaBackend : public Backend {
  public:
    /// Loads the model and makes a context with an empty memory. The error says in one sentence what went
    /// wrong and which flag it comes from. Any thread, then the engine thread alone.
    static Result<std::unique_ptr<LlamaBackend>> load(const LlamaOptions& options);

    /// For text::make_llama_text_model; lives as long as the backend.
    [[nodiscard]] virtual const llama_model* model() const = 0;
};

}  // namespace kvalet::engine
