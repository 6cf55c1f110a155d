#include "cli/model_defaults.h"

#include "text/model_sampling.h"

namespace kvalet::cli {

text::TextDefaults with_model_defaults(const ServeOptions& options, const text::ModelSampling& model) {
    text::TextDefaults merged = options.text;
    text::SamplingParams& to = merged.sampling;
    text::apply_model_sampling(model, to);
    const text::SamplingParams& from = options.text.sampling;
    // The fields that a file may say something about.
    if (options.is_given("top-k")) to.top_k = from.top_k;
    if (options.is_given("top-p")) to.top_p = from.top_p;
    if (options.is_given("min-p")) to.min_p = from.min_p;
    if (options.is_given("xtc-probability")) to.xtc_probability = from.xtc_probability;
    if (options.is_given("xtc-threshold")) to.xtc_threshold = from.xtc_threshold;
    if (options.is_given("temp")) to.temperature = from.temperature;
    if (options.is_given("repeat-last-n")) to.repeat_last_n = from.repeat_last_n;
    if (options.is_given("repeat-penalty")) to.repeat_penalty = from.repeat_penalty;
    if (options.is_given("mirostat")) to.mirostat = from.mirostat;
    if (options.is_given("mirostat-ent")) to.mirostat_tau = from.mirostat_tau;
    if (options.is_given("mirostat-lr")) to.mirostat_eta = from.mirostat_eta;
    if (options.is_given("samplers") || options.is_given("sampler-seq")) to.samplers = from.samplers;
    return merged;
}

}  // namespace kvalet::cli
