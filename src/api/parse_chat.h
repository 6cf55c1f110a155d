// Chat messages (llama-server-api 1.7), rendered by the model's template.
#pragma once

#include <string>
#include <vector>

#include "api/config.h"
#include "api/json_fwd.h"
#include "core/result.h"
#include "text/text_model.h"

namespace kvalet::api {

/// Messages in one chat.
constexpr std::size_t kMaxMessages = 16384;

struct ChatPrompt {
    std::vector<text::ChatMessage> messages;  // without a last one that is to be continued
    bool add_assistant = true;                // open the assistant's turn behind them
    std::string prefill;                      // what the assistant has said in that turn already
};

/// Reads messages, add_generation_prompt and continue_final_message. A trailing assistant message is
/// continued, two of them are an error; so are unknown roles, no messages at all, and content that is not
/// text (501).
[[nodiscard]] Result<ChatPrompt> parse_chat_prompt(const Json& body, const ApiConfig& config);

/// The prompt text.
[[nodiscard]] Result<std::string> render_chat(const ChatPrompt& chat, const text::TextModel& model);

/// Refuses the chat fields that are not there yet: tools, response_format and the like (501), or wrong values
/// (400).
[[nodiscard]] Status check_chat_fields(const Json& body);

}  // namespace kvalet::api
