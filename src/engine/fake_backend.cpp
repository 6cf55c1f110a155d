#include "engine/fake_backend.h"

#include <algorithm>
#include <cstring>

#include "core/assert.h"

namespace kvalet::engine {

namespace {

constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15ULL;

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
    h ^= v + kSeed + (h << 6U) + (h >> 2U);
    h ^= h >> 33U;
    h *= 0xFF51AFD7ED558CCDULL;
    h ^= h >> 29U;
    return h;
}

constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
constexpr std::size_t kSnapshotHead = sizeof(std::uint64_t) * 2;  // number of tokens, their hash

}  // namespace

FakeBackend::FakeBackend(FakeOptions options, ManualClock* clock) : options_(options), clock_(clock) {
    KVALET_ASSERT(options.bytes_per_token >= static_cast<std::int64_t>(sizeof(Token)),
                  "a snapshot holds the tokens");
    caps_.n_slots = options.n_slots;
    caps_.unified = options.unified;
    caps_.pool = Cells{options.pool};
    caps_.n_ctx_slot = Tokens{options.unified ? options.pool : options.pool / options.n_slots};
    caps_.n_batch = Tokens{options.n_batch};
    caps_.n_ubatch = Tokens{options.n_ubatch};
    caps_.can_replay = options.can_replay;
    caps_.snapshot_fixed = Bytes{static_cast<std::int64_t>(kSnapshotHead)};
    caps_.snapshot_per_token = Bytes{options.bytes_per_token};
    memories_.resize(static_cast<std::size_t>(options.n_slots));
    row_.resize(static_cast<std::size_t>(options.n_vocab));
}

bool FakeBackend::fails(FakeCall call) {
    const auto i = static_cast<std::size_t>(call);
    ++calls_[i];
    return fail_at_[i] != 0 && (calls_[i] == fail_at_[i] || (fails_on_[i] && calls_[i] > fail_at_[i]));
}

void FakeBackend::fail_nth(FakeCall call, std::uint64_t nth) {
    const auto i = static_cast<std::size_t>(call);
    fail_at_[i] = nth == 0 ? 0 : calls_[i] + nth;
    fails_on_[i] = false;
}

void FakeBackend::fail_from(FakeCall call, std::uint64_t nth) {
    fail_nth(call, nth);
    fails_on_[static_cast<std::size_t>(call)] = true;
}

std::int64_t FakeBackend::cells_used() const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < memories_.size(); ++i) {
        const Memory& m = memories_[i];
        const bool counted =
            m.group != 0 && std::any_of(memories_.begin(), memories_.begin() + static_cast<std::ptrdiff_t>(i),
                                        [&m](const Memory& o) { return o.group == m.group; });
        n += m.tokens.size() - (counted ? m.shared : 0);
    }
    return static_cast<std::int64_t>(n);
}

const std::vector<Token>& FakeBackend::content(SlotId slot) const {
    return at(slot).tokens;
}

void FakeBackend::append(Memory& m, Token token) const {
    const std::uint64_t before = m.hashes.empty() ? kSeed : m.hashes.back();
    m.tokens.push_back(token);
    m.hashes.push_back(extended(before, token));
}

bool FakeBackend::room_for(std::span<const BatchEntry> batch) const {
    if (options_.unified) {
        return cells_used() + static_cast<std::int64_t>(batch.size()) <= options_.pool;
    }
    return std::all_of(batch.begin(), batch.end(),
                       [this](const BatchEntry& e) { return e.pos < caps_.n_ctx_slot.value(); });
}

DecodeStatus FakeBackend::decode(std::span<const BatchEntry> batch) {
    KVALET_ASSERT(static_cast<std::int64_t>(batch.size()) <= options_.n_batch, "a batch larger than n_batch");
    if (fails(FakeCall::decode_room) || !room_for(batch)) {
        return DecodeStatus::no_room;
    }
    if (fails(FakeCall::decode_compute)) {
        return DecodeStatus::failed;
    }
    rows_.clear();
    row_of_.assign(batch.size(), kNoRow);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const BatchEntry& e = batch[i];
        Memory& m = at(e.slot);
        KVALET_ASSERT(e.pos == static_cast<std::int32_t>(m.tokens.size()),
                      "a token at a position that is not the next");
        append(m, e.token);
        if (e.output) {
            row_of_[i] = rows_.size();
            rows_.push_back(m.hashes.back());
        }
    }
    ++n_decodes_;
    charge_decode(batch);
    return DecodeStatus::ok;
}

std::uint64_t FakeBackend::extended(std::uint64_t state, Token token) {
    return mix(state, static_cast<std::uint64_t>(token));
}

std::uint64_t FakeBackend::state_of(std::span<const Token> tokens) {
    std::uint64_t state = kSeed;
    for (const Token t : tokens) {
        state = extended(state, t);
    }
    return state;
}

Token FakeBackend::next_of(std::uint64_t state) const {
    return static_cast<Token>(state % static_cast<std::uint64_t>(options_.n_vocab));
}

Token FakeBackend::next_token(std::span<const Token> tokens) const {
    return next_of(state_of(tokens));
}

std::span<const float> FakeBackend::logits(std::size_t index) {
    KVALET_ASSERT(index < row_of_.size() && row_of_[index] != kNoRow,
                  "logits of an entry that asked for none");
    const std::uint64_t hash = rows_[row_of_[index]];
    constexpr float kScale = 1.0F / 64.0F;
    for (std::size_t i = 0; i < row_.size(); ++i) {
        row_[i] = static_cast<float>((hash >> (i % 48U)) & 0xFFU) * kScale;
    }
    constexpr float kAboveAll = 8.0F;
    row_[static_cast<std::size_t>(next_of(hash))] = kAboveAll;
    return row_;
}

Tokens FakeBackend::truncate(SlotId slot, Tokens n) {
    Memory& m = at(slot);
    const auto keep = static_cast<std::size_t>(n.value());
    const bool rewinds = keep < m.tokens.size();
    if (fails(FakeCall::truncate) || (rewinds && !options_.can_rewind)) {
        clear(slot);
        return Tokens{0};
    }
    if (rewinds) {
        m.tokens.resize(keep);
        m.hashes.resize(keep);
        m.shared = std::min(m.shared, keep);
    }
    return Tokens{static_cast<std::int64_t>(m.tokens.size())};
}

void FakeBackend::clear(SlotId slot) {
    at(slot).tokens.clear();
    at(slot).hashes.clear();
    at(slot).group = 0;
    at(slot).shared = 0;
}

void FakeBackend::share(SlotId from, SlotId to, Tokens n) {
    const Memory& source = at(from);
    Memory& target = at(to);
    ++n_shares_;
    const auto count = static_cast<std::ptrdiff_t>(n.value());
    target.tokens.assign(source.tokens.begin(), source.tokens.begin() + count);
    target.hashes.assign(source.hashes.begin(), source.hashes.begin() + count);
    if (options_.unified) {
        at(from).group = at(from).group != 0 ? at(from).group : ++n_groups_;
        target.group = at(from).group;
        target.shared = at(from).shared = static_cast<std::size_t>(n.value());
    }
}

std::int64_t FakeBackend::bytes_of(const Memory& m) const {
    return caps_.snapshot_fixed.value() +
           caps_.snapshot_per_token.value() * static_cast<std::int64_t>(m.tokens.size());
}

Bytes FakeBackend::snapshot_size(SlotId slot) {
    return Bytes{fails(FakeCall::snapshot_size) ? 0 : bytes_of(at(slot))};  // 0 is what libllama says
}

bool FakeBackend::save(SlotId slot, std::span<std::byte> into) {
    const Memory& m = at(slot);
    if (fails(FakeCall::save) || static_cast<std::int64_t>(into.size()) < bytes_of(m)) {
        return false;
    }
    const std::uint64_t head[2] = {m.tokens.size(), m.hashes.empty() ? kSeed : m.hashes.back()};
    std::memcpy(into.data(), head, kSnapshotHead);
    if (!m.tokens.empty()) {
        std::memcpy(into.data() + kSnapshotHead, m.tokens.data(), m.tokens.size() * sizeof(Token));
    }
    charge_copy(into.size());
    return true;
}

bool FakeBackend::load(SlotId slot, std::span<const std::byte> from) {
    KVALET_ASSERT(at(slot).tokens.empty(), "a snapshot is restored into a slot that is not empty");
    if (fails(FakeCall::load) || from.size() < kSnapshotHead) {
        return false;
    }
    std::uint64_t head[2];
    std::memcpy(head, from.data(), kSnapshotHead);
    const bool whole = from.size() >= kSnapshotHead + head[0] * sizeof(Token);
    if (!whole || (options_.unified && cells_used() + static_cast<std::int64_t>(head[0]) > options_.pool)) {
        return false;
    }
    std::vector<Token> tokens(head[0]);
    if (!tokens.empty()) {
        std::memcpy(tokens.data(), from.data() + kSnapshotHead, tokens.size() * sizeof(Token));
    }
    Memory& m = at(slot);
    for (const Token t : tokens) {
        append(m, t);
    }
    if ((m.hashes.empty() ? kSeed : m.hashes.back()) != head[1]) {
        clear(slot);
        return false;
    }
    charge_copy(from.size());
    return true;
}

void FakeBackend::charge_decode(std::span<const BatchEntry> batch) {
    if (clock_ == nullptr) {
        return;
    }
    const FakeCosts& c = options_.costs;
    Micros cost = c.decode_us;
    for (std::size_t i = 0; i < batch.size();) {
        std::size_t end = i + 1;
        while (end < batch.size() && batch[end].slot == batch[i].slot) {
            ++end;
        }
        const auto n = static_cast<Micros>(end - i);
        cost += n == 1 ? c.decode_row_us : n * c.prompt_token_us;
        i = end;
    }
    clock_->advance_us(cost);
}

void FakeBackend::charge_copy(std::size_t bytes) {
    if (clock_ != nullptr) {
        constexpr Micros kMiB = 1024 * 1024;
        clock_->advance_us(options_.costs.copy_fixed_us +
                           static_cast<Micros>(bytes) * options_.costs.copy_mib_us / kMiB);
    }
}

}  // namespace kvalet::engine
