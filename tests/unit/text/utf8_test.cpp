#include "text/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <set>
#include <string>

namespace kvalet::text {
namespace {

std::string encode(std::uint32_t c) {
    std::string s;
    const auto put = [&](std::uint32_t byte) { s.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
    return s;
}

/// All proper beginnings of all characters there are.
const std::set<std::string>& beginnings() {
    static const std::set<std::string> all = [] {
        std::set<std::string> set;
        for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
            if (c >= 0xD800 && c <= 0xDFFF) {
                continue;
            }
            const std::string s = encode(c);
            for (std::size_t n = 1; n < s.size(); ++n) {
                set.insert(s.substr(0, n));
            }
        }
        return set;
    }();
    return all;
}

std::size_t naive(const std::string& text) {
    for (std::size_t n = 3; n >= 1; --n) {
        if (n <= text.size() && beginnings().contains(text.substr(text.size() - n))) {
            return n;
        }
    }
    return 0;
}

TEST(IncompleteUtf8Suffix, IsZeroForWholeCharacters) {
    EXPECT_EQ(incomplete_utf8_suffix(""), 0U);
    EXPECT_EQ(incomplete_utf8_suffix("plain"), 0U);
    EXPECT_EQ(incomplete_utf8_suffix("caf\xC3\xA9"), 0U);
    EXPECT_EQ(incomplete_utf8_suffix("\xE2\x82\xAC"), 0U);
    EXPECT_EQ(incomplete_utf8_suffix("\xF0\x9F\x98\x80"), 0U);
}

TEST(IncompleteUtf8Suffix, CountsTheBytesOfACharacterThatIsCutOff) {
    EXPECT_EQ(incomplete_utf8_suffix("caf\xC3"), 1U);
    EXPECT_EQ(incomplete_utf8_suffix("x\xE2\x82"), 2U);
    EXPECT_EQ(incomplete_utf8_suffix("x\xF0"), 1U);
    EXPECT_EQ(incomplete_utf8_suffix("x\xF0\x9F"), 2U);
    EXPECT_EQ(incomplete_utf8_suffix("x\xF0\x9F\x98"), 3U);
}

TEST(IncompleteUtf8Suffix, DoesNotWaitForWhatCannotBecomeACharacter) {
    EXPECT_EQ(incomplete_utf8_suffix("\x80\x80"), 0U);  // continuation bytes alone
    EXPECT_EQ(incomplete_utf8_suffix("\xC0"), 0U);      // an overlong form
    EXPECT_EQ(incomplete_utf8_suffix("\xE0\x80"), 0U);  // an overlong form
    EXPECT_EQ(incomplete_utf8_suffix("\xED\xA0"), 0U);  // a surrogate
    EXPECT_EQ(incomplete_utf8_suffix("\xF4\x90"), 0U);  // above U+10FFFF
    EXPECT_EQ(incomplete_utf8_suffix("\xFF"), 0U);      // no lead byte
    EXPECT_EQ(incomplete_utf8_suffix("\xF0\x9F"
                                     "a"),
              0U);  // broken off
}

TEST(IncompleteUtf8Suffix, AgreesWithTheTableOfAllCharacters) {
    EXPECT_TRUE(rc::check([] {
        const auto byte =
            rc::gen::oneOf(rc::gen::arbitrary<unsigned char>(), rc::gen::inRange<unsigned char>(0x7E, 0xC3),
                           rc::gen::inRange<unsigned char>(0xDE, 0xF6));
        const auto bytes = *rc::gen::container<std::vector<unsigned char>>(byte);
        const std::string text(bytes.begin(), bytes.end());
        RC_ASSERT(incomplete_utf8_suffix(text) == naive(text));
    }));
}

TEST(IncompleteUtf8Suffix, AgreesForEveryPairAtTheEnd) {
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            const std::string text = {'x', static_cast<char>(a), static_cast<char>(b)};
            ASSERT_EQ(incomplete_utf8_suffix(text), naive(text)) << a << " " << b;
        }
    }
}

}  // namespace
}  // namespace kvalet::text
