// The table of flags: listening, access, routes, chat, and the limits of what a client may do.
#include <filesystem>

#include "cli/values.h"

namespace kvalet::cli {

namespace {

/// Threads and connections beyond this are typing errors.
constexpr int kMaxWorkerThreads = 1024;
constexpr int kMaxConnections = 1'000'000;

Status set_host(ServeOptions& o, const std::string& value) {
    std::vector<std::string> hosts = split_commas(value);
    if (hosts.empty()) return expected("at least one address");
    o.http.hosts = std::move(hosts);
    return Unit{};
}

Status set_api_prefix(ServeOptions& o, const std::string& value) {
    std::string prefix = value;
    while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
    if (!prefix.empty() && prefix.front() != '/') return expected("a path that begins with /");
    o.http.api_prefix = std::move(prefix);
    return Unit{};
}

Status set_api_key(ServeOptions& o, const std::string& value) {
    for (std::string& key : split_commas(value)) o.http.api_keys.push_back(std::move(key));
    return Unit{};
}

Status set_api_key_file(ServeOptions& o, const std::string& value) {
    Result<std::string> text = read_file(value);
    if (!text) return text.error();
    std::size_t n_keys = 0;
    for (const std::string& line : split(*text, '\n')) {
        std::string key = trim(line);
        if (key.empty() || key.front() == '#') continue;
        o.http.api_keys.push_back(std::move(key));
        ++n_keys;
    }
    // A file without keys would leave a server open that its operator believes to be closed.
    if (n_keys == 0) return expected("a file with one key on each line");
    return Unit{};
}

Status set_slot_save_path(ServeOptions& o, const std::string& value) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(value, ignored)) return expected("a directory that exists");
    o.server.slot_save_path = value.back() == '/' ? value : value + '/';
    return Unit{};
}

Status set_similarity(ServeOptions& o, const std::string& value) {
    const std::optional<float> x = number_of(value);
    if (!x || *x < 0 || *x > 1) return expected("a number from 0 to 1");
    o.server.slot_prompt_similarity = *x;
    return Unit{};
}

Status set_cont_batching(ServeOptions&, const std::string& value) {
    if (switch_of(value) != std::optional<bool>(true))
        return expected("on, as Kvalet always batches continuously");
    return Unit{};
}

Status set_chat_template_file(ServeOptions& o, const std::string& value) {
    Result<std::string> text = read_file(value);
    if (!text) return text.error();
    o.server.chat_template = std::move(*text);
    return Unit{};
}

Setter as_switch_of(bool ServerOptions::*field) {
    return as_switch([field](ServeOptions& o) -> bool& { return o.server.*field; });
}

Setter as_text_of(std::string HttpOptions::*field) {
    return as_text([field](ServeOptions& o) -> std::string& { return o.http.*field; });
}

Setter as_int_of(int HttpOptions::*field, std::int64_t low, std::int64_t high = INT32_MAX) {
    return as_integer([field](ServeOptions& o) -> int& { return o.http.*field; }, low, high);
}

void add_listening(std::vector<Flag>& t) {
    const Group g = Group::server;
    add(t, g, "host", "", "LLAMA_ARG_HOST", "ADDRESSES", "127.0.0.1",
        "Addresses to listen on, between commas; one that ends in .sock is a UNIX socket.", set_host);
    add(t, g, "port", "", "LLAMA_ARG_PORT", "N", "8080", "Port to listen on; 0: any free one.",
        as_int_of(&HttpOptions::port, 0, 65535));
    add(t, g, "reuse-port", "", "LLAMA_ARG_REUSE_PORT", "", "off",
        "Let several servers listen on the same port.",
        as_switch([](ServeOptions& o) -> bool& { return o.http.reuse_port; }));
    add(t, g, "api-prefix", "", "LLAMA_ARG_API_PREFIX", "PATH", "", "Put before every route.",
        set_api_prefix);
    add(t, g, "timeout -to", "", "LLAMA_ARG_TIMEOUT", "SECONDS", "3600",
        "Longest wait for a client that does not read or write.", as_int_of(&HttpOptions::timeout_s, 1));
    add(t, g, "threads-http", "", "LLAMA_ARG_THREADS_HTTP", "N", "-1",
        "Threads that prepare requests (JSON, templates, tokens); -1: as many as slots + 4 or cores - 1.",
        as_int_of(&HttpOptions::worker_threads, -1, kMaxWorkerThreads));
    add(t, g, "sse-ping-interval", "", "LLAMA_ARG_SSE_PING_INTERVAL", "SECONDS", "30",
        "A comment on a stream that was silent for so long; -1: none.",
        as_int_of(&HttpOptions::sse_ping_interval, -1));
    add(t, g, "http-keepalive-body", "--no-http-keepalive-body", "LLAMA_ARG_HTTP_KEEPALIVE_BODY", "", "off",
        "White space in front of a reply that is not streamed, every 15 s; its status is 200 from then on.",
        as_switch([](ServeOptions& o) -> bool& { return o.http.keepalive_body; }));
}

void add_access(std::vector<Flag>& t) {
    const Group g = Group::server;
    add(t, g, "api-key", "", "LLAMA_API_KEY", "KEYS", "", "Keys that clients must show, between commas.",
        set_api_key);
    add(t, g, "api-key-file", "", "LLAMA_ARG_API_KEY_FILE", "FILE", "",
        "More keys, one on each line; lines that begin with # are comments.", set_api_key_file);
    add(t, g, "cors-origins", "", "LLAMA_ARG_CORS_ORIGINS", "ORIGINS", "*",
        "Web pages that may ask: * echoes every origin, localhost only those of this machine.",
        as_text_of(&HttpOptions::cors_origins));
    add(t, g, "cors-methods", "", "LLAMA_ARG_CORS_METHODS", "METHODS", "GET, POST, DELETE, OPTIONS",
        "Methods that web pages may use.", as_text_of(&HttpOptions::cors_methods));
    add(t, g, "cors-headers", "", "LLAMA_ARG_CORS_HEADERS", "HEADERS", "*",
        "Headers that web pages may send.", as_text_of(&HttpOptions::cors_headers));
    add(t, g, "cors-credentials", "--no-cors-credentials", "LLAMA_ARG_CORS_CREDENTIALS", "", "on",
        "Whether web pages may send credentials.",
        as_switch([](ServeOptions& o) -> bool& { return o.http.cors_credentials; }));
}

void add_routes(std::vector<Flag>& t) {
    const Group g = Group::server;
    add(t, g, "metrics", "", "LLAMA_ARG_ENDPOINT_METRICS", "", "off", "Serve /metrics.",
        as_switch_of(&ServerOptions::metrics));
    add(t, g, "slots", "--no-slots", "LLAMA_ARG_ENDPOINT_SLOTS", "", "on", "Serve /slots.",
        as_switch_of(&ServerOptions::slots));
    add(t, g, "props", "", "LLAMA_ARG_ENDPOINT_PROPS", "", "off", "Accept POST /props.",
        as_switch_of(&ServerOptions::props));
    add(t, g, "slot-save-path", "", "", "DIR", "",
        "Where POST /slots/{id} saves and restores; must exist. Without it that is off.", set_slot_save_path);
    add(t, g, "slot-prompt-similarity -sps", "", "", "X", "0.10",
        "A request goes to the slot whose cached tokens match more than this share of its prompt; 0: off.",
        set_similarity);
    add(t, g, "cont-batching -cb", "-nocb --no-cont-batching", "LLAMA_ARG_CONT_BATCHING", "", "on",
        "New requests join those that are being worked on. It cannot be switched off.", set_cont_batching);
    add(t, g, "cache-prompt", "--no-cache-prompt", "LLAMA_ARG_CACHE_PROMPT", "", "on",
        "Reuse the cells of a prompt that begins like the slot's last one.",
        as_switch_of(&ServerOptions::cache_prompt));
    add(t, g, "cache-ram -cram", "", "LLAMA_ARG_CACHE_RAM", "MIB", "8192",
        "Host memory for the prompts of finished requests that had to leave the pool. -1: no limit; 0: off.",
        as_mib([](ServeOptions& o) -> std::int64_t& { return o.server.cache_ram_bytes; }));
    add(t, g, "cache-idle-slots", "--no-cache-idle-slots", "LLAMA_ARG_CACHE_IDLE_SLOTS", "", "on",
        "Put the prompts of idle slots there whenever another request begins, not only when room is needed.",
        as_switch_of(&ServerOptions::cache_idle_slots));
}

void add_chat(std::vector<Flag>& t) {
    const Group g = Group::chat;
    add(t, g, "chat-template", "", "LLAMA_ARG_CHAT_TEMPLATE", "TEMPLATE", "",
        "Name of a template that libllama knows, or the source of one; else the model's own.",
        as_text([](ServeOptions& o) -> std::string& { return o.server.chat_template; }));
    add(t, g, "chat-template-file", "", "LLAMA_ARG_CHAT_TEMPLATE_FILE", "FILE", "",
        "File with the source of the template.", set_chat_template_file);
    add(t, g, "jinja", "--no-jinja", "LLAMA_ARG_JINJA", "", "on",
        "Accepted, but without effect so far: chats are always rendered by libllama's built-in templates, "
        "which know the common formats and neither tools nor reasoning.",
        as_switch_of(&ServerOptions::jinja));
    add(t, g, "prefill-assistant", "--no-prefill-assistant", "LLAMA_ARG_PREFILL_ASSISTANT", "", "on",
        "Continue a last message that is the assistant's own.",
        as_switch_of(&ServerOptions::prefill_assistant));
}

void add_limits(std::vector<Flag>& t) {
    const Group g = Group::limits;
    add(t, g, "max-body-mib", "", "LLAMA_ARG_MAX_BODY_MIB", "MIB", "64",
        "Largest body of a request; a larger one gets 413.",
        as_integer([](ServeOptions& o) -> std::int64_t& { return o.http.max_body_mib; }, 1, 65536));
    add(t, g, "max-header-kib", "", "LLAMA_ARG_MAX_HEADER_KIB", "KIB", "64",
        "Largest header of a request; a larger one gets 431.",
        as_int_of(&HttpOptions::max_header_kib, 1, 16384));
    add(t, g, "header-timeout", "", "LLAMA_ARG_HEADER_TIMEOUT", "SECONDS", "30",
        "Longest wait for the whole header of a request.", as_int_of(&HttpOptions::header_timeout_s, 1));
    add(t, g, "body-timeout", "", "LLAMA_ARG_BODY_TIMEOUT", "SECONDS", "900",
        "Longest wait for the whole body of a request.", as_int_of(&HttpOptions::body_timeout_s, 1));
    add(t, g, "idle-timeout", "", "LLAMA_ARG_IDLE_TIMEOUT", "SECONDS", "75",
        "A kept connection without a request is closed after so long.",
        as_int_of(&HttpOptions::idle_timeout_s, 1));
    add(t, g, "slow-client-timeout", "", "LLAMA_ARG_SLOW_CLIENT_TIMEOUT", "SECONDS", "600",
        "A stream whose client takes nothing for so long is ended; 0: as --timeout.",
        as_int_of(&HttpOptions::slow_client_timeout_s, 0));
    add(t, g, "max-connections", "", "LLAMA_ARG_MAX_CONNECTIONS", "N", "4096", "Connections open at a time.",
        as_int_of(&HttpOptions::max_connections, 1, kMaxConnections));
}

}  // namespace

void add_server_flags(std::vector<Flag>& table) {
    add_listening(table);
    add_access(table);
    add_routes(table);
    add_chat(table);
    add_limits(table);
}

}  // namespace kvalet::cli
