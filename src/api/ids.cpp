#include "api/ids.h"

#include <random>
#include <string_view>

namespace kvalet::api {

namespace {

std::string random_text(std::size_t length) {
    constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    thread_local std::random_device source;
    std::uniform_int_distribution<std::size_t> pick(0, kLetters.size() - 1);
    std::string text(length, '\0');
    for (char& c : text) {
        c = kLetters[pick(source)];
    }
    return text;
}

}  // namespace

std::string new_completion_id() {
    return "chatcmpl-" + random_text(32);
}

std::string new_media_marker() {
    return "<__media_" + random_text(32) + "__>";
}

}  // namespace kvalet::api
