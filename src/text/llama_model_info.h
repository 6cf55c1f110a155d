// What libllama says about a model, as plain data.
#pragma once

#include "llama.h"
#include "text/text_model.h"

namespace kvalet::text {

/// Everything but path, alias and what is about the chat template.
[[nodiscard]] ModelInfo read_model_info(const llama_model& model);

/// The token's bytes; "" for an id outside the vocabulary.
[[nodiscard]] std::string token_piece(const llama_vocab& vocab, Token token, bool special);

}  // namespace kvalet::text
