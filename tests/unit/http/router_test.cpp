#include "http/router.h"

#include <gtest/gtest.h>
#include <optional>

namespace kvalet::http {
namespace {

/// An exchange without a connection.
class FakeExchange final : public Exchange {
  public:
    explicit FakeExchange(Request request) : request_(std::move(request)) {}
    [[nodiscard]] const Request& request() const override { return request_; }
    void send(Reply reply) override { sent = std::move(reply); }
    void wake() override {}
    void post(std::function<void()> work) override { work(); }
    void call_at(TimePoint, std::function<void()>) override {}
    void on_abort(std::function<void()>) override {}
    [[nodiscard]] bool aborted() const override { return false; }
    std::optional<Reply> sent;

  private:
    Request request_;
};

Reply format_error(int status, std::string message) {
    return {status, "text/plain", {}, std::move(message), nullptr};
}

Handler says(std::string text) {
    return [text](const std::shared_ptr<Exchange>& exchange) {
        std::string body = text;
        for (const std::string& param : exchange->request().path_params) {
            body += ":" + param;
        }
        exchange->send({200, "", {}, body, nullptr});
    };
}

Reply ask(const Router& router, std::string method, std::string path) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    const Router::Match match = router.match(request);
    const auto exchange = std::make_shared<FakeExchange>(std::move(request));
    router.dispatch(match, exchange, format_error);
    return exchange->sent.value_or(Reply{0, "", {}, "nothing sent", nullptr});
}

class RouterTest : public testing::Test {
  protected:
    RouterTest() {
        router.add("GET", "/", says("root"));
        router.add("GET", "/slots", says("slots"));
        router.add("POST", "/slots/{id}", says("slot"));
        router.add("GET", "/slots/{id}", says("slot get"));
        router.add("GET", "/slots/all", says("all"));
        router.add("POST", "/a/{x}/b/{y}", says("two"));
    }
    Router router;
};

TEST_F(RouterTest, FindsRoutesAndParameters) {
    EXPECT_EQ(ask(router, "GET", "/").body, "root");
    EXPECT_EQ(ask(router, "GET", "/slots").body, "slots");
    EXPECT_EQ(ask(router, "POST", "/slots/7").body, "slot:7");
    EXPECT_EQ(ask(router, "GET", "/slots/7").body, "slot get:7");
    EXPECT_EQ(ask(router, "GET", "/slots/all").body, "all");
    EXPECT_EQ(ask(router, "POST", "/a/1/b/2").body, "two:1:2");
}

TEST_F(RouterTest, UnknownPathsAre404) {
    for (const char* path : {"/slots/", "/slots/1/2", "/Slots", "/slots/1/", "slots", "", "/a/1/b/", "*"}) {
        EXPECT_EQ(ask(router, "GET", path).status, 404) << path;
    }
    router.set_fallback(says("fallback"));
    EXPECT_EQ(ask(router, "GET", "/nowhere").body, "fallback");
}

TEST_F(RouterTest, OtherMethodsAre405WithAllow) {
    const Reply reply = ask(router, "DELETE", "/slots/7");
    EXPECT_EQ(reply.status, 405);
    ASSERT_EQ(reply.headers.size(), 1U);
    EXPECT_EQ(reply.headers[0].name, "Allow");
    EXPECT_EQ(reply.headers[0].value, "GET, HEAD, POST");
    router.set_options(says("options"));
    EXPECT_EQ(ask(router, "POST", "/slots").headers.at(0).value, "GET, HEAD, OPTIONS");
}

TEST_F(RouterTest, HeadIsAnsweredByGet) {
    EXPECT_EQ(ask(router, "HEAD", "/slots").body, "slots");
    EXPECT_EQ(ask(router, "HEAD", "/a/1/b/2").status, 405);
    router.add("HEAD", "/slots", says("own head"));
    EXPECT_EQ(ask(router, "HEAD", "/slots").body, "own head");
}

TEST_F(RouterTest, OptionsComeBeforeTheMiddlewareAndThatBeforeTheRoute) {
    router.set_before([](Exchange& exchange) {
        exchange.send({401, "", {}, "no", nullptr});
        return false;
    });
    EXPECT_EQ(ask(router, "GET", "/slots").status, 401);
    EXPECT_EQ(ask(router, "GET", "/nowhere").status, 401);
    EXPECT_EQ(ask(router, "OPTIONS", "/slots").status, 401);
    router.set_options(says("options"));
    EXPECT_EQ(ask(router, "OPTIONS", "/nowhere").body, "options");
    router.set_before([](Exchange&) { return true; });
    EXPECT_EQ(ask(router, "GET", "/slots").body, "slots");
}

}  // namespace
}  // namespace kvalet::http
