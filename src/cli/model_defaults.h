// The sampling defaults that requests start from: built in, then the model's file, then the flags that were
// given (llama-server-api 1.5).
#pragma once

#include "cli/options.h"
#include "text/text_model.h"

namespace kvalet::cli {

[[nodiscard]] text::TextDefaults with_model_defaults(const ServeOptions& options,
                                                     const text::ModelSampling& model);

}  // namespace kvalet::cli
