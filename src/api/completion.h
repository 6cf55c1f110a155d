// One completion request on its way: from the exchange through a worker to the engine, and back as a stream
// or a whole reply.
//
// Threads: start, abort and everything about events on the io thread; prepare on a worker; the engine thread
// only rings the bell (Outbox notify). It keeps itself alive through that bell until the last event, a
// failure or an abort.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/collector.h"
#include "api/room.h"
#include "api/sse_stream.h"
#include "api/task_params.h"
#include "api/waiting_body.h"
#include "http/exchange.h"

namespace kvalet::api {

class Completion : public std::enable_shared_from_this<Completion> {
  public:
    Completion(std::shared_ptr<Room> room, std::shared_ptr<http::Exchange> exchange, Dialect dialect);

    /// io thread. Hands the request to a worker; from there on it takes care of itself.
    static void start(std::shared_ptr<Room> room, std::shared_ptr<http::Exchange> exchange, Dialect dialect);

    /// io thread: the next bytes of the stream.
    [[nodiscard]] http::Body::Chunk next_chunk(http::TimePoint now);

  private:
    // ---- worker
    void prepare();
    [[nodiscard]] Status parse(std::vector<engine::Request>& requests);
    [[nodiscard]] Status make_requests(CompletionJob job, std::vector<engine::Request>& requests);
    [[nodiscard]] Status add_generation(engine::Request& request);
    [[nodiscard]] ReplyContext make_context(CompletionJob& job) const;
    void submit(std::vector<engine::Request> requests);
    void expect_a_wait();

    // ---- io thread
    void abort();
    void on_events();
    void ring();  // engine thread
    void on_long_wait();
    void open_stream(bool although_it_waits);
    [[nodiscard]] std::optional<std::size_t> place_in_queue();
    void collect();
    void send_whole();  // worker
    void on_submit_failed(const Error& error);
    void fail(const Error& error);
    void answer(http::Reply reply);  // io thread or worker
    void end();
    void cancel_all();
    [[nodiscard]] http::Reply with_id(http::Reply reply) const;

    const std::shared_ptr<Room> room_;
    const std::shared_ptr<http::Exchange> exchange_;
    const Dialect dialect_;
    const std::string id_;

    // Made by the worker before the first submit, then the io thread's.
    ReplyContext context_;
    std::vector<std::shared_ptr<engine::Outbox>> outboxes_;  // in order of index
    std::vector<Collector> collectors_;                      // a whole reply
    std::optional<SseStream> stream_;                        // a stream
    std::atomic<bool> opened_{false};                        // its headers have been sent
    bool ended_ = false;                                     // nothing more is to be said
    /// Of a whole reply whose status is 200 already, as it takes long.
    std::shared_ptr<WaitingBody> waiting_body_;

    std::mutex mutex_;           // guards the three below
    std::vector<TaskId> tasks_;  // one for each prompt: with n > 1 the parent's, which stands for its family
    bool submitted_ = false;
    bool aborted_ = false;
};

}  // namespace kvalet::api
