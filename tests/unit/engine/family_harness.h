// A request with n > 1 as its client sees it, in the harness of the engine's tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "unit/engine/harness.h"

namespace kvalet::test {

struct Member {
    std::shared_ptr<engine::Outbox> outbox =
        std::make_shared<engine::Outbox>(std::function<void()>{}, 100'000);
    std::vector<Token> tokens;
    std::optional<engine::Finished> finished;
    std::optional<Error> failed;

    void read();
};

struct Family {
    std::vector<Token> prompt;
    std::vector<Member> members;
    Result<TaskId> task = make_error(ErrorKind::server, "not submitted");
};

/// n members; the kth begins with the kth token after the best one, so that they differ.
Family ask_family(Harness& h, std::size_t n, std::int64_t n_prompt,
                  const std::vector<std::int64_t>& n_predict);

/// Each token that the member with this index has is the right one.
void expect_right_tokens(const Harness& h, const Family& f, std::size_t index);

/// Every member came to its end, with the right tokens.
void expect_exact(const Harness& h, Family& f);

}  // namespace kvalet::test
