// What the tests of this room share: a fake model, a configuration, parsed JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/parse_common.h"
#include "api/reply.h"
#include "support/fake_text_model.h"

namespace kvalet::api {

struct Fixture {
    test::FakeTextModel model;
    ApiConfig config;
    std::vector<Token> eog = eog_tokens_of(model);

    Fixture() {
        config.aliases = {"zeta", "alpha"};
        config.model_path = "models/fake.gguf";
        config.build_info = "b7-abc";
        config.media_marker = "<__media__>";
    }
    [[nodiscard]] ParseContext context() const { return {config, model, eog}; }
    [[nodiscard]] Result<CompletionJob> parse(std::string_view body,
                                              Dialect dialect = Dialect::native) const {
        return parse_completion(body, dialect, context());
    }
    /// The context of a reply to that body, with fixed facts.
    [[nodiscard]] ReplyContext reply_to(std::string_view body, Dialect dialect) const {
        Result<CompletionJob> job = parse(body, dialect);
        ReplyContext context;
        context.dialect = dialect;
        context.params = job->params;
        context.id = "chatcmpl-1";
        context.model = model_name(config);
        context.fingerprint = config.build_info;
        context.created_s = 1700000000;
        context.eog_tokens = eog;
        for (const std::vector<Token>& prompt : job->prompts) {
            context.prompt_texts.push_back(model.detokenize(prompt, true));
        }
        return context;
    }
};

inline engine::TokenOut token_out(std::string text, std::int64_t n_decoded, Token token = 'x') {
    engine::TokenOut out;
    out.piece.token = token;
    out.piece.text = std::move(text);
    out.n_prompt = Tokens{3};
    out.n_decoded = Tokens{n_decoded};
    out.timings = {Tokens{1}, Tokens{2}, 4.0, Tokens{n_decoded}, 8.0};
    return out;
}

inline engine::Finished finished(text::StopType stop = text::StopType::limit) {
    engine::Finished end;
    end.slot = SlotId{2};
    end.stop = stop;
    end.n_prompt = Tokens{3};
    end.n_decoded = Tokens{5};
    end.n_cached_now = Tokens{7};
    end.timings = {Tokens{1}, Tokens{2}, 4.0, Tokens{5}, 8.0};
    return end;
}

}  // namespace kvalet::api
