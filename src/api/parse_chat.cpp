#include "api/parse_chat.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "api/fields.h"
#include "api/json.h"

namespace kvalet::api {

namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "developer", "user", "assistant"};
/// Parts of content that llama-server knows beside text.
constexpr std::array<std::string_view, 4> kMediaParts = {"image_url", "input_audio", "input_video",
                                                         "video_url"};

Error bad_message(std::size_t i, std::string_view sentence, ErrorKind kind = ErrorKind::invalid_request) {
    return make_error(kind, "Field 'messages[" + std::to_string(i) + "]': " + std::string(sentence));
}

Result<std::string> text_of_parts(const Json& parts, std::size_t i) {
    std::string text;
    bool first = true;
    for (const Json& part : parts) {
        const auto type = part.is_object() ? part.find("type") : part.end();
        if (!part.is_object() || type == part.end() || !type->is_string()) {
            return bad_message(i, "each part of content must be an object with a type");
        }
        if (*type != "text") {
            const bool known = std::find(kMediaParts.begin(), kMediaParts.end(), *type) != kMediaParts.end();
            return bad_message(i, "content of type " + shown(*type) + " is not supported yet, only text",
                               known ? ErrorKind::not_supported : ErrorKind::invalid_request);
        }
        const auto value = part.find("text");
        if (value == part.end() || !value->is_string()) {
            return bad_message(i, "a part of type text must have a string text");
        }
        text += first ? "" : "\n";
        text += value->get_ref<const std::string&>();
        first = false;
    }
    return text;
}

Result<std::string> content_of(const Json& message, const std::string& role, std::size_t i) {
    const auto content = message.find("content");
    if (content == message.end()) {
        return bad_message(i, "a message of role " + role + " must have content");
    }
    if (content->is_null()) {
        return std::string{};
    }
    if (content->is_string()) {
        return content->get<std::string>();
    }
    if (content->is_array()) {
        return text_of_parts(*content, i);
    }
    return bad_message(
        i, "content must be a string, null or an array, but is " + std::string(kind_of(*content)));
}

Result<text::ChatMessage> message_of(const Json& message, std::size_t i) {
    if (!message.is_object()) {
        return bad_message(i, "must be an object, but is " + std::string(kind_of(message)));
    }
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) {
        return bad_message(i, "must have a role that is a string");
    }
    const auto& name = role->get_ref<const std::string&>();
    if (name == "tool" || name == "function") {
        return bad_message(i, "the role " + name + " is not supported yet", ErrorKind::not_supported);
    }
    if (std::find(kRoles.begin(), kRoles.end(), name) == kRoles.end()) {
        return bad_message(
            i, "unknown role " + shown(*role) + "; known are system, developer, user and assistant");
    }
    if (const auto calls = message.find("tool_calls");
        calls != message.end() && !calls->is_null() && !calls->empty()) {
        return bad_message(i, "tool_calls are not supported yet", ErrorKind::not_supported);
    }
    Result<std::string> content = content_of(message, name, i);
    if (!content.ok()) {
        return content.error();
    }
    // Templates know the older name of the same role.
    return text::ChatMessage{name == "developer" ? "system" : name, std::move(*content)};
}

Result<std::vector<text::ChatMessage>> messages_of(const Json& body) {
    const auto value = body.find("messages");
    if (value == body.end() || value->is_null()) {
        return make_error(ErrorKind::invalid_request, "Field 'messages': is required");
    }
    if (!value->is_array()) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'messages': must be an array, but is " + std::string(kind_of(*value)));
    }
    if (value->empty() || value->size() > kMaxMessages) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'messages': must hold 1 to " + std::to_string(kMaxMessages) + " messages");
    }
    std::vector<text::ChatMessage> messages;
    messages.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
        Result<text::ChatMessage> message = message_of((*value)[i], i);
        if (!message.ok()) {
            return message.error();
        }
        messages.push_back(std::move(*message));
    }
    return messages;
}

/// true or "content" ask for a continuation; every other value does not (llama-server-api 1.7).
Result<bool> wants_continuation(const Json& body) {
    const auto value = body.find("continue_final_message");
    if (value == body.end() || value->is_null() || *value == false) {
        return false;
    }
    if (*value == true || *value == "content") {
        return true;
    }
    if (*value == "reasoning_content") {
        return make_error(ErrorKind::not_supported,
                          "Field 'continue_final_message': continuing the reasoning is not supported yet");
    }
    return make_error(
        ErrorKind::invalid_request,
        "Field 'continue_final_message': must be true, false, \"content\" or \"reasoning_content\"");
}

/// Moves the last message into the prefill where the request or the rule of trailing assistant messages says
/// so.
Status set_continuation(const Json& body, const ApiConfig& config, ChatPrompt& chat) {
    const Result<bool> asked = wants_continuation(body);
    if (!asked.ok()) {
        return asked.error();
    }
    const auto n = chat.messages.size();
    const bool ends_with_assistant = chat.messages.back().role == "assistant";
    if (*asked && chat.add_assistant && body.contains("add_generation_prompt")) {
        return make_error(ErrorKind::invalid_request,
                          "Fields 'add_generation_prompt' and 'continue_final_message' cannot both be true");
    }
    if (*asked && !ends_with_assistant) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'continue_final_message': the last message is not the assistant's");
    }
    if (!*asked && (!ends_with_assistant || !config.prefill_assistant)) {
        return Unit{};
    }
    if (n >= 2 && chat.messages[n - 2].role == "assistant") {
        return make_error(ErrorKind::invalid_request,
                          "Field 'messages': two assistant messages at the end cannot be continued");
    }
    chat.prefill = std::move(chat.messages.back().content);
    chat.messages.pop_back();
    chat.add_assistant = true;  // the turn that the prefill stands in
    return Unit{};
}

Status check_response_format(const Json& body) {
    const auto format = body.find("response_format");
    if (format == body.end() || format->is_null()) {
        return Unit{};
    }
    const auto type = format->is_object() ? format->find("type") : format->end();
    if (!format->is_object() || (type != format->end() && !type->is_string())) {
        return make_error(ErrorKind::invalid_request,
                          "Field 'response_format': must be an object with a type");
    }
    if (type == format->end() || *type == "text" || *type == "") {
        return Unit{};
    }
    if (*type == "json_object" || *type == "json_schema") {
        return make_error(ErrorKind::not_supported, "Field 'response_format': " + dump(*type) +
                                                        " is not supported yet; a GBNF grammar is");
    }
    return make_error(ErrorKind::invalid_request,
                      "Field 'response_format': the type must be text, json_object or json_schema");
}

Status check_tools(const Json& body) {
    const auto tools = body.find("tools");
    const bool has_tools = tools != body.end() && !tools->is_null();
    if (has_tools && !tools->is_array()) {
        return make_error(ErrorKind::invalid_request, "Field 'tools': must be an array");
    }
    const auto choice = body.find("tool_choice");
    const bool has_choice = choice != body.end() && !choice->is_null();
    if (has_choice && *choice == "none") {
        return Unit{};  // no tool may be called, so the tools are not missed
    }
    if (has_tools && !tools->empty()) {
        return make_error(ErrorKind::not_supported, "Field 'tools': calling tools is not supported yet");
    }
    if (!has_choice || *choice == "auto") {
        return Unit{};
    }
    if (*choice == "required" || choice->is_object()) {
        return make_error(ErrorKind::not_supported,
                          "Field 'tool_choice': calling tools is not supported yet");
    }
    return make_error(ErrorKind::invalid_request, "Field 'tool_choice': must be auto, none or required");
}

}  // namespace

Result<ChatPrompt> parse_chat_prompt(const Json& body, const ApiConfig& config) {
    Result<std::vector<text::ChatMessage>> messages = messages_of(body);
    if (!messages.ok()) {
        return messages.error();
    }
    ChatPrompt chat;
    chat.messages = std::move(*messages);
    FieldReader fields(body);
    fields.boolean({"add_generation_prompt"}, chat.add_assistant);
    if (!fields.ok()) {
        return *fields.error();
    }
    if (const Status status = set_continuation(body, config, chat); !status.ok()) {
        return status.error();
    }
    return chat;
}

Result<std::string> render_chat(const ChatPrompt& chat, const text::TextModel& model) {
    Result<std::string> prompt = model.apply_template(chat.messages, chat.add_assistant);
    if (prompt.ok()) {
        *prompt += chat.prefill;
    }
    return prompt;
}

Status check_chat_fields(const Json& body) {
    if (Status status = check_tools(body); !status.ok()) {
        return status;
    }
    if (Status status = check_response_format(body); !status.ok()) {
        return status;
    }
    FieldReader fields(body);
    fields.refuse({"functions"}, "calling functions is not supported yet");
    fields.refuse({"chat_template_kwargs"}, "arguments of the template are not supported yet");
    fields.refuse({"audio"}, "audio is not supported yet");
    fields.refuse({"web_search_options"}, "searching the web is not supported");
    std::string effort;
    if (fields.string({"reasoning_effort"}, effort) && effort != "none" && !effort.empty()) {
        fields.fail("reasoning_effort", "only \"none\" is supported yet", ErrorKind::not_supported);
    }
    return fields.ok() ? Status(Unit{}) : Status(*fields.error());
}

}  // namespace kvalet::api
