// A client of raw sockets: it sends what it is told and sees every byte.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace kvalet::http::test {

/// One connection. Whatever does not happen within half a minute is an exception and fails the test; that is
/// a guard, nothing is measured by it.
class TestClient {
  public:
    /// `receive_buffer_bytes`: SO_RCVBUF, 0 for the system's choice.
    explicit TestClient(int port, int receive_buffer_bytes = 0);
    explicit TestClient(const std::string& unix_path);
    ~TestClient();
    TestClient(TestClient&& other) noexcept;
    TestClient& operator=(TestClient&&) = delete;
    TestClient(const TestClient&) = delete;

    struct Response {
        int status = 0;
        std::string head;  // up to and with the empty line
        Headers headers;
        std::string body;  // chunked coding undone
        [[nodiscard]] std::string_view header(std::string_view name) const;
        [[nodiscard]] bool has(std::string_view name) const;
    };

    void send(std::string_view bytes);
    /// False when the server has closed meanwhile.
    [[nodiscard]] bool try_send(std::string_view bytes);
    /// The next response; `head_only` for replies to HEAD.
    Response read_response(bool head_only = false);
    /// A GET and its response.
    Response get(std::string_view target);
    /// Everything up to and with `mark`.
    std::string read_until(std::string_view mark);
    std::string read_exactly(std::size_t bytes);
    /// Everything up to the close; a reset counts as one.
    std::string read_to_end();

    void shutdown_write();
    void close();
    /// Closes with a reset instead of a FIN.
    void reset();

  private:
    /// False at the end of the stream.
    bool receive_more();

    int descriptor_ = -1;
    std::string received_;
};

}  // namespace kvalet::http::test
