// The text side of a model on libllama. The model itself is loaded and owned elsewhere.
#pragma once

#include <memory>
#include <string>

#include "text/text_model.h"

struct llama_model;

namespace kvalet::text {

struct LlamaTextOptions {
    std::string path;           // for ModelInfo
    std::string alias;          // for ModelInfo
    std::string chat_template;  // name of a built-in template or a template's source; "": the model's own
    bool special = false;       // generated text shows special tokens (--special)
};

/// `model` outlives the text model, and the text model outlives its generations. The model may have been
/// loaded with its vocabulary only. Any thread, also while a context of the model decodes.
[[nodiscard]] std::unique_ptr<TextModel> make_llama_text_model(const llama_model* model,
                                                               LlamaTextOptions options);

}  // namespace kvalet::text
