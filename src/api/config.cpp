#include "api/config.h"

#include <algorithm>

namespace kvalet::api {

std::string model_name(const ApiConfig& config) {
    if (const auto first = std::min_element(config.aliases.begin(), config.aliases.end());
        first != config.aliases.end()) {
        return *first;
    }
    return config.hf_repo.empty() ? config.model_path : config.hf_repo;
}

}  // namespace kvalet::api
