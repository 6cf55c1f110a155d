// The sampling defaults of a model file, put between the built-in defaults and the command line.
#pragma once

#include "text/params.h"
#include "text/text_model.h"

namespace kvalet::text {

/// Overwrites in `params` what the file says something about.
void apply_model_sampling(const ModelSampling& model, SamplingParams& params);

}  // namespace kvalet::text
