#include "engine/slot_file.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>

namespace kvalet::engine {

namespace {

constexpr std::uint32_t kMagic = 0x67677371U;  // "ggsq"
constexpr std::uint32_t kVersion = 3;
constexpr std::int32_t kPacked = -1;  // a first word that is no token: packed words follow
constexpr std::int32_t kPackedVersion = 1;
constexpr std::uint32_t kMaxWords = 16U * 1024 * 1024;  // tokens that a file may name

Error restore_error(const std::string& why) {
    return make_error(ErrorKind::invalid_request, "Unable to restore slot: " + why);
}

template <class T>
void write(std::ofstream& out, const T* data, std::size_t n) {
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(n * sizeof(T)));
}

template <class T>
bool read(std::ifstream& in, T* data, std::size_t n) {
    in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(n * sizeof(T)));
    return in.good();
}

/// Tokens from the words of a file: packed ones, or a plain token list. Media make it useless here.
Result<std::vector<Token>> tokens_of(const std::vector<std::int32_t>& words) {
    if (words.empty() || words[0] != kPacked) {
        return std::vector<Token>(words.begin(), words.end());
    }
    if (words.size() < 4 || words[1] != kPackedVersion) {
        return restore_error("the file's token list has an unknown version");
    }
    const auto n = static_cast<std::size_t>(words[2] < 0 ? 0 : words[2]);
    if (words.size() < 4 + n) {
        return restore_error("the file's token list is cut short");
    }
    if (words[3 + n] != 0) {
        return restore_error("the file holds media, which this server cannot restore");
    }
    return std::vector<Token>(words.begin() + 3, words.begin() + 3 + static_cast<std::ptrdiff_t>(n));
}

struct FileContent {
    std::vector<Token> tokens;
    std::vector<std::byte> state;
    std::int64_t n_read = 0;
};

Result<FileContent> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) {
        return restore_error("the file cannot be opened");
    }
    const std::int64_t size = in.tellg();
    in.seekg(0);
    std::uint32_t head[3] = {};
    constexpr std::int64_t kHeadBytes = sizeof(head);
    if (size < kHeadBytes || !read(in, head, 3) || head[0] != kMagic || head[1] != kVersion) {
        return restore_error("the file is no slot file of a known version");
    }
    const std::int64_t state_bytes = size - kHeadBytes - static_cast<std::int64_t>(head[2]) * 4;
    if (head[2] > kMaxWords || state_bytes < 0) {
        return restore_error("the file is cut short");
    }
    FileContent content;
    std::vector<std::int32_t> words(head[2]);
    content.state.resize(static_cast<std::size_t>(state_bytes));
    if (!read(in, words.data(), words.size()) ||
        (state_bytes > 0 && !read(in, content.state.data(), content.state.size()))) {
        return restore_error("the file cannot be read");
    }
    auto tokens = tokens_of(words);
    if (!tokens) {
        return tokens.error();
    }
    content.tokens = std::move(*tokens);
    content.n_read = size;
    return content;
}

}  // namespace

Result<SlotFileReply> save_slot_file(Backend& backend, SlotId slot, const std::vector<Token>& tokens,
                                     const std::string& path) {
    const Bytes size = backend.snapshot_size(slot);
    std::vector<std::byte> state(static_cast<std::size_t>(size.value()));
    if (!backend.save(slot, state)) {
        return make_error(ErrorKind::server, "Unable to save slot: its state could not be copied");
    }
    std::vector<std::int32_t> words = {kPacked, kPackedVersion, static_cast<std::int32_t>(tokens.size())};
    words.insert(words.end(), tokens.begin(), tokens.end());
    words.push_back(0);  // no media
    const std::uint32_t head[3] = {kMagic, kVersion, static_cast<std::uint32_t>(words.size())};
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    write(out, head, 3);
    write(out, words.data(), words.size());
    write(out, state.data(), state.size());
    out.close();
    if (!out) {
        return make_error(ErrorKind::server, "Unable to save slot: the file cannot be written");
    }
    SlotFileReply reply;
    reply.slot = slot;
    reply.n_tokens = Tokens{static_cast<std::int64_t>(tokens.size())};
    reply.n_bytes = Bytes{static_cast<std::int64_t>(sizeof(head) + words.size() * 4 + state.size())};
    return reply;
}

Result<SlotFileReply> restore_slot_file(Backend& backend, SlotId slot, std::vector<Token>& tokens,
                                        const std::string& path, Cells room) {
    tokens.clear();
    auto content = read_file(path);
    if (!content) {
        return content.error();
    }
    const auto n = static_cast<std::int64_t>(content->tokens.size());
    if (Cells{n} > room) {
        return restore_error("its " + std::to_string(n) + " tokens do not fit the " +
                             std::to_string(room.value()) + " free cells");
    }
    if (!backend.load(slot, content->state)) {
        backend.clear(slot);
        return restore_error("the state does not fit this model and context");
    }
    // The ledger counts the tokens: a state of fewer cells would let it count what is not there. Cells beyond
    // the tokens are given up.
    if (backend.truncate(slot, Tokens{n}) != Tokens{n}) {
        backend.clear(slot);
        return restore_error("the state does not belong to its tokens");
    }
    tokens = std::move(content->tokens);
    SlotFileReply reply;
    reply.slot = slot;
    reply.n_tokens = Tokens{n};
    reply.n_bytes = Bytes{content->n_read};
    return reply;
}

}  // namespace kvalet::engine
