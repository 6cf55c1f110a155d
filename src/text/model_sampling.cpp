#include "text/model_sampling.h"

namespace kvalet::text {

namespace {

template <class T>
void put(const std::optional<T>& from, T& to) {
    if (from) {
        to = *from;
    }
}

}  // namespace

void apply_model_sampling(const ModelSampling& model, SamplingParams& params) {
    put(model.top_k, params.top_k);
    put(model.top_p, params.top_p);
    put(model.min_p, params.min_p);
    put(model.xtc_probability, params.xtc_probability);
    put(model.xtc_threshold, params.xtc_threshold);
    put(model.temperature, params.temperature);
    put(model.repeat_last_n, params.repeat_last_n);
    put(model.repeat_penalty, params.repeat_penalty);
    put(model.mirostat, params.mirostat);
    put(model.mirostat_tau, params.mirostat_tau);
    put(model.mirostat_eta, params.mirostat_eta);
    if (!model.samplers.empty()) {
        params.samplers = model.samplers;
    }
}

}  // namespace kvalet::text
