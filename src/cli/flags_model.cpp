// The table of flags: which model, and how it is loaded.
#include "cli/values.h"

namespace kvalet::cli {

namespace {

/// No model has more; each of them becomes a pattern for libllama.
constexpr int kMaxLayers = 4096;

Status set_gpu_layers(ServeOptions& o, const std::string& value) {
    if (value == "auto") {
        o.model.gpu_layers = ModelOptions::kAutoLayers;
    } else if (value == "all") {
        o.model.gpu_layers = ModelOptions::kAllLayers;
    } else if (const auto n = integer_of(value); n && *n >= 0 && *n <= INT32_MAX) {
        o.model.gpu_layers = static_cast<int>(*n);
    } else {
        return expected("auto, all or a number of layers");
    }
    return Unit{};
}

Status set_tensor_split(ServeOptions& o, const std::string& value) {
    std::vector<float> parts;
    std::string with_commas = value;
    for (char& c : with_commas) c = c == '/' ? ',' : c;
    for (const std::string& part : split_commas(with_commas)) {
        const std::optional<float> share = number_of(part);
        if (!share || *share < 0) return expected("shares such as 3,1");
        parts.push_back(*share);
    }
    if (parts.empty()) return expected("shares such as 3,1");
    o.model.tensor_split = std::move(parts);
    return Unit{};
}

Status set_override_tensor(ServeOptions& o, const std::string& value) {
    for (const std::string& part : split_commas(value)) {
        const std::size_t at = part.find('=');
        if (at == std::string::npos || at == 0 || at + 1 == part.size()) {
            return expected("PATTERN=BUFFER_TYPE, several between commas");
        }
        o.model.override_tensor.emplace_back(part.substr(0, at), part.substr(at + 1));
    }
    return Unit{};
}

std::optional<KvOverride> kv_override_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return std::nullopt;
    const std::size_t colon = text.find(':', equals);
    if (colon == std::string::npos) return std::nullopt;
    const std::string type = text.substr(equals + 1, colon - equals - 1);
    KvOverride made{text.substr(0, equals), KvOverride::Type::string, text.substr(colon + 1)};
    if (type == "int") {
        made.type = KvOverride::Type::integer;
        if (!integer_of(made.value)) return std::nullopt;
    } else if (type == "float") {
        made.type = KvOverride::Type::real;
        if (!number_of(made.value)) return std::nullopt;
    } else if (type == "bool") {
        made.type = KvOverride::Type::boolean;
        if (made.value != "true" && made.value != "false") return std::nullopt;
    } else if (type != "str" || made.value.size() > 127) {  // 127: what libllama has room for
        return std::nullopt;
    }
    return made;
}

Status set_override_kv(ServeOptions& o, const std::string& value) {
    for (const std::string& part : split_commas(value)) {
        std::optional<KvOverride> made = kv_override_of(part);
        if (!made || made->key.size() > 127)
            return expected("KEY=TYPE:VALUE with TYPE int, float, bool or str");
        o.model.override_kv.push_back(std::move(*made));
    }
    return Unit{};
}

Setter as_names(std::vector<std::string> ModelOptions::*field) {
    return [field](ServeOptions& o, const std::string& value) -> Status {
        for (std::string& name : split_commas(value)) (o.model.*field).push_back(std::move(name));
        return Unit{};
    };
}

Status set_model(ServeOptions& o, const std::string& value) {
    if (value.empty()) return expected("the path of a GGUF file");
    o.model.path = value;
    return Unit{};
}

Status set_mmap(ServeOptions& o, const std::string& value) {
    const std::optional<bool> on = switch_of(value);
    if (!on) return expected("on, enabled, true, 1, off, disabled, false or 0");
    const bool lock = o.model.load_mode == LoadMode::mlock || o.model.load_mode == LoadMode::mmap_mlock;
    if (*on) {
        o.model.load_mode = lock ? LoadMode::mmap_mlock : LoadMode::mmap;
    } else {
        o.model.load_mode = lock ? LoadMode::mlock : LoadMode::none;
    }
    return Unit{};
}

Status set_mlock(ServeOptions& o, const std::string& value) {
    const std::optional<bool> on = switch_of(value);
    if (!on) return expected("on, enabled, true, 1, off, disabled, false or 0");
    if (!*on) return Unit{};
    o.model.load_mode = o.model.load_mode == LoadMode::none ? LoadMode::mlock : LoadMode::mmap_mlock;
    return Unit{};
}

void add_files(std::vector<Flag>& t) {
    const Group g = Group::model;
    add(t, g, "model -m", "", "LLAMA_ARG_MODEL", "FILE", "", "The model, a GGUF file.", set_model);
    add(t, g, "alias -a", "", "LLAMA_ARG_ALIAS", "NAMES", "",
        "Names of the model in the API, between commas; the first in alphabetical order is shown.",
        as_names(&ModelOptions::aliases));
    add(t, g, "tags", "", "LLAMA_ARG_TAGS", "TAGS", "", "Tags shown by /v1/models, between commas.",
        as_names(&ModelOptions::tags));
    add(t, g, "load-mode -lm", "", "LLAMA_ARG_LOAD_MODE", "MODE", "auto",
        "How the file is read: auto, none, mmap, mlock, mmap+mlock or dio.",
        as_choice([](ServeOptions& o) -> LoadMode& { return o.model.load_mode; },
                  std::vector<std::pair<std::string, LoadMode>>{{"auto", LoadMode::automatic},
                                                                {"none", LoadMode::none},
                                                                {"mmap", LoadMode::mmap},
                                                                {"mlock", LoadMode::mlock},
                                                                {"mmap+mlock", LoadMode::mmap_mlock},
                                                                {"dio", LoadMode::direct_io}}));
    add(t, g, "mmap", "--no-mmap", "LLAMA_ARG_MMAP", "", "",
        "Older spelling of --load-mode: map the file into memory, or do not.", set_mmap);
    add(t, g, "mlock", "", "LLAMA_ARG_MLOCK", "", "",
        "Older spelling of --load-mode: keep the model from being swapped out.", set_mlock);
    add(t, g, "check-tensors", "", "", "", "off", "Look for invalid values in the model's tensors.",
        as_switch([](ServeOptions& o) -> bool& { return o.model.check_tensors; }));
    add(t, g, "override-kv", "", "", "KEY=TYPE:VALUE", "",
        "Replace metadata of the model; TYPE is int, float, bool or str; several between commas.",
        set_override_kv);
    add(t, g, "warmup", "--no-warmup", "", "", "on", "Run the model once before the first request.",
        as_switch([](ServeOptions& o) -> bool& { return o.model.warmup; }));
}

void add_devices(std::vector<Flag>& t) {
    const Group g = Group::model;
    add(t, g, "gpu-layers -ngl --n-gpu-layers", "", "LLAMA_ARG_N_GPU_LAYERS", "N", "auto",
        "Layers held by the GPU: a number, auto or all.", set_gpu_layers);
    add(t, g, "device -dev", "", "LLAMA_ARG_DEVICE", "NAMES", "",
        "Devices to offload to, between commas; none: no offloading.",
        [](ServeOptions& o, const std::string& value) -> Status {
            o.model.devices = split_commas(value);
            if (o.model.devices.empty()) return expected("names of devices, or none");
            return Unit{};
        });
    add(t, g, "split-mode -sm", "", "LLAMA_ARG_SPLIT_MODE", "MODE", "layer",
        "How several GPUs share the model: none, layer, row or tensor.",
        as_choice([](ServeOptions& o) -> SplitMode& { return o.model.split_mode; },
                  std::vector<std::pair<std::string, SplitMode>>{{"none", SplitMode::none},
                                                                 {"layer", SplitMode::layer},
                                                                 {"row", SplitMode::row},
                                                                 {"tensor", SplitMode::tensor}}));
    add(t, g, "tensor-split -ts", "", "LLAMA_ARG_TENSOR_SPLIT", "SHARES", "",
        "How much of the model each GPU takes, such as 3,1.", set_tensor_split);
    add(t, g, "main-gpu -mg", "", "LLAMA_ARG_MAIN_GPU", "N", "0", "The GPU that does what is not split.",
        as_integer([](ServeOptions& o) -> int& { return o.model.main_gpu; }, 0));
    add(t, g, "override-tensor -ot", "", "LLAMA_ARG_OVERRIDE_TENSOR", "PATTERN=TYPE", "",
        "Buffer type of the tensors whose names match; several between commas.", set_override_tensor);
    add(t, g, "cpu-moe -cmoe", "", "LLAMA_ARG_CPU_MOE", "", "off",
        "Keep the weights of all experts in host memory.",
        as_switch([](ServeOptions& o) -> bool& { return o.model.cpu_moe; }));
    add(t, g, "n-cpu-moe -ncmoe", "", "LLAMA_ARG_N_CPU_MOE", "N", "0",
        "Keep the weights of the experts of the first N layers in host memory.",
        as_integer([](ServeOptions& o) -> int& { return o.model.n_cpu_moe; }, 0, kMaxLayers));
    add(t, g, "repack", "-nr --no-repack", "LLAMA_ARG_REPACK", "", "on",
        "Rearrange weights for faster kernels while loading.",
        as_switch([](ServeOptions& o) -> bool& { return o.model.repack; }));
    add(t, g, "numa", "", "LLAMA_ARG_NUMA", "TYPE", "",
        "Help for machines with several memory nodes: distribute, isolate or numactl.",
        as_choice(
            [](ServeOptions& o) -> Numa& { return o.model.numa; },
            std::vector<std::pair<std::string, Numa>>{
                {"distribute", Numa::distribute}, {"isolate", Numa::isolate}, {"numactl", Numa::numactl}}));
}

}  // namespace

void add_model_flags(std::vector<Flag>& table) {
    add_files(table);
    add_devices(table);
}

}  // namespace kvalet::cli
