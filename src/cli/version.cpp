#include "cli/version.h"

#include "kvalet_version.h"  // made by version.cmake

namespace kvalet::cli {

std::string build_info() {
    return KVALET_BUILD_INFO;
}

std::string version_text() {
    return "version: " KVALET_VERSION " (" KVALET_BUILD_INFO ")";
}

}  // namespace kvalet::cli
