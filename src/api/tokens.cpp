#include "api/tokens.h"

#include "api/fields.h"
#include "api/json.h"
#include "api/parse_prompt.h"
#include "api/utf8.h"

namespace kvalet::api {

namespace {

/// The piece as a string, or as its bytes where it is no valid UTF-8.
Json piece_json(const std::string& piece) {
    if (is_valid_utf8(piece)) {
        return piece;
    }
    Json bytes = Json::array();
    for (const char c : piece) {
        bytes.push_back(static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return bytes;
}

}  // namespace

Result<std::string> tokenize_reply(std::string_view body, const text::TextModel& model) {
    const Result<Json> request = parse_json_object(body);
    if (!request.ok()) {
        return request.error();
    }
    FieldReader fields(*request);
    bool add_special = false;
    bool parse_special = true;
    bool with_pieces = false;
    fields.boolean({"add_special"}, add_special);
    fields.boolean({"parse_special"}, parse_special);
    fields.boolean({"with_pieces"}, with_pieces);
    if (!fields.ok()) {
        return *fields.error();
    }
    Json list = Json::array();
    if (const Json* content = fields.find({"content"})) {
        const auto tokens = tokenize_mixed(*content, model, add_special, parse_special, "content");
        if (!tokens.ok()) {
            return tokens.error();
        }
        for (const Token token : *tokens) {
            if (with_pieces) {
                list.push_back(Json{{"id", token}, {"piece", piece_json(model.piece(token, true))}});
            } else {
                list.push_back(token);
            }
        }
    }
    return dump(Json{{"tokens", std::move(list)}});
}

Result<std::string> detokenize_reply(std::string_view body, const text::TextModel& model) {
    const Result<Json> request = parse_json_object(body);
    if (!request.ok()) {
        return request.error();
    }
    FieldReader fields(*request);
    const Json* list = fields.find({"tokens"});
    if (list == nullptr) {
        return dump(Json{{"content", ""}});
    }
    if (!list->is_array()) {
        return make_error(ErrorKind::invalid_request, "Field 'tokens': must be an array of token ids");
    }
    for (const Json& element : *list) {
        if (element.is_string()) {
            return make_error(ErrorKind::invalid_request, "Field 'tokens': must be an array of token ids");
        }
    }
    const auto tokens = tokenize_mixed(*list, model, false, false, "tokens");
    if (!tokens.ok()) {
        return tokens.error();
    }
    return dump(Json{{"content", model.detokenize(*tokens, true)}});
}

}  // namespace kvalet::api
