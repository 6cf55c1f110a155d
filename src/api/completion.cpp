#include "api/completion.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/errors.h"
#include "api/ids.h"
#include "api/json.h"
#include "api/parse_common.h"
#include "api/settings.h"

namespace kvalet::api {

namespace {

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// The http room's view of a stream.
class SseBody final : public http::Body {
  public:
    explicit SseBody(std::shared_ptr<Completion> completion) : completion_(std::move(completion)) {}
    Chunk next(http::TimePoint now) override { return completion_->next_chunk(now); }

  private:
    std::shared_ptr<Completion> completion_;
};

}  // namespace

Completion::Completion(std::shared_ptr<Room> room, std::shared_ptr<http::Exchange> exchange, Dialect dialect)
    : room_(std::move(room)), exchange_(std::move(exchange)), dialect_(dialect), id_(new_completion_id()) {}

void Completion::start(std::shared_ptr<Room> room, std::shared_ptr<http::Exchange> exchange,
                       Dialect dialect) {
    auto completion = std::make_shared<Completion>(std::move(room), std::move(exchange), dialect);
    completion->exchange_->on_abort([weak = std::weak_ptr(completion)] {
        if (const auto self = weak.lock()) {
            self->abort();
        }
    });
    if (!completion->room_->pool.try_push([completion] { completion->prepare(); })) {
        completion->fail(make_error(
            ErrorKind::too_many_requests,
            "Too many requests are waiting to be parsed (limit " + std::to_string(kMaxQueuedJobs) + ")"));
    }
}

// ---- worker

void Completion::prepare() {
    if (exchange_->aborted()) {
        return;
    }
    std::vector<engine::Request> requests;
    const Status status = guarded([&] { return parse(requests); });
    if (!status.ok()) {
        outboxes_.clear();
        exchange_->send(with_id(error_reply(status.error(), room_->config)));
        return;
    }
    submit(std::move(requests));
}

Status Completion::parse(std::vector<engine::Request>& requests) {
    Result<CompletionJob> job = parse_completion(exchange_->request().body, dialect_, room_->parse_context());
    return job.ok() ? make_requests(std::move(*job), requests) : Status(job.error());
}

ReplyContext Completion::make_context(CompletionJob& job) const {
    ReplyContext context;
    context.dialect = dialect_;
    context.id = id_;
    context.model = model_name(room_->config);
    context.fingerprint = room_->config.build_info;
    context.created_s = unix_seconds();
    context.eog_tokens = room_->eog_tokens;
    if (shows_prompt(dialect_, job.params)) {
        for (const std::vector<Token>& prompt : job.prompts) {
            context.prompt_texts.push_back(room_->model->detokenize(prompt, true));
        }
    }
    context.params = std::move(job.params);
    return context;
}

/// The next index: its sampler, and where its events will come.
Status Completion::add_generation(engine::Request& request) {
    const TaskParams& params = context_.params;
    const int index = static_cast<int>(outboxes_.size());
    text::SamplingParams sampling = params.sampling;
    sampling.seed = seed_of(params, index);
    auto generation = room_->model->make_generation(sampling, params.stop, room_->n_ctx());
    if (!generation.ok()) {
        return generation.error();
    }
    auto outbox = std::make_shared<engine::Outbox>([self = shared_from_this()] { self->ring(); });
    outbox->on_room([room = room_] { room->engine->poke(); });
    collectors_.emplace_back(index, params.return_tokens);
    outboxes_.push_back(outbox);
    if (child_of(params, index) == 0) {
        request.generation = std::move(*generation);
        request.outbox = std::move(outbox);
    } else {
        request.child_generations.push_back(std::move(*generation));
        request.child_outboxes.push_back(std::move(outbox));
    }
    return Unit{};
}

/// Fills `requests`, one for each prompt, and everything of this object that events need.
Status Completion::make_requests(CompletionJob job, std::vector<engine::Request>& requests) {
    context_ = make_context(job);
    const TaskParams& params = context_.params;
    const auto shown = std::make_shared<const std::string>(dump(reduced_settings(params)));
    for (std::vector<Token>& prompt : job.prompts) {
        engine::Request request;
        request.public_id = id_;
        request.prompt = std::move(prompt);
        request.slot = params.slot;
        request.priority = params.priority;
        request.cache_prompt = params.cache_prompt;
        request.n_predict = params.stop.n_predict;
        request.return_progress = params.return_progress && params.stream;
        request.stream = params.stream;
        request.params_json = shown;
        for (std::int32_t i = 0; i < params.n_cmpl; ++i) {
            if (Status status = add_generation(request); !status.ok()) {
                return status;
            }
        }
        requests.push_back(std::move(request));
    }
    if (params.stream) {
        std::vector<SseStream::Source> sources;
        for (const std::shared_ptr<engine::Outbox>& outbox : outboxes_) {
            sources.emplace_back([outbox] { return outbox->try_pop(); });
        }
        stream_.emplace(context_, std::move(sources), [this] { return place_in_queue(); });
    }
    return Unit{};
}

void Completion::submit(std::vector<engine::Request> requests) {
    bool all_taken = true;
    for (engine::Request& request : requests) {
        Result<TaskId> task = room_->engine->submit(std::move(request));
        if (!task.ok()) {
            exchange_->post(
                [self = shared_from_this(), error = task.error()] { self->on_submit_failed(error); });
            all_taken = false;
            break;
        }
        const std::lock_guard lock(mutex_);
        tasks_.push_back(*task);
        if (aborted_) {
            break;
        }
    }
    if (all_taken) {
        expect_a_wait();  // what is wrong with the request is known by now, and has had its status
    }
    const std::lock_guard lock(mutex_);
    submitted_ = true;
    if (aborted_) {
        // abort() came too early to know these; the io thread looks at nothing of ours any more.
        for (const TaskId task : tasks_) {
            room_->engine->cancel(task);
        }
        outboxes_.clear();
        stream_.reset();
    }
}

void Completion::expect_a_wait() {
    const ApiConfig& config = room_->config;
    const bool streams = context_.params.stream;
    if (streams ? context_.params.sse_notices != SseNotices::off : config.http_keepalive_body) {
        const auto delay = streams ? config.queue_notice_delay : config.body_keepalive_interval;
        exchange_->call_at(std::chrono::steady_clock::now() + delay,
                           [self = shared_from_this()] { self->on_long_wait(); });
    }
}

void Completion::ring() {
    if (opened_) {
        exchange_->wake();  // coalesced, and next_chunk looks at all of them
    } else {
        exchange_->post([self = shared_from_this()] { self->on_events(); });
    }
}

// ---- io thread

void Completion::abort() {
    const auto self = shared_from_this();  // the bell may be what holds us
    ended_ = true;
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    if (submitted_) {
        for (const TaskId task : tasks_) {
            room_->engine->cancel(task);
        }
        outboxes_.clear();
        stream_.reset();
    }
}

void Completion::cancel_all() {
    const std::lock_guard lock(mutex_);
    for (const TaskId task : tasks_) {
        room_->engine->cancel(task);  // one that has ended is ignored
    }
}

void Completion::on_events() {
    if (ended_) {
        return;
    }
    if (!stream_) {
        collect();
    } else if (opened_) {
        exchange_->wake();
    } else {
        open_stream(false);
    }
}

/// Nothing has been said of the request for a while: the reply begins all the same, with a sign of life.
void Completion::on_long_wait() {
    if (ended_ || opened_) {
        return;
    }
    if (stream_) {
        open_stream(true);
        return;
    }
    waiting_body_ = std::make_shared<WaitingBody>(room_->config.body_keepalive_interval);
    http::Reply reply = json_reply({});
    reply.stream = waiting_body_;
    exchange_->send(with_id(std::move(reply)));
}

std::optional<std::size_t> Completion::place_in_queue() {
    const std::lock_guard lock(mutex_);
    const auto snapshot = room_->engine->snapshot();
    const auto place =
        std::find_first_of(snapshot->queue.begin(), snapshot->queue.end(), tasks_.begin(), tasks_.end());
    return place == snapshot->queue.end() ? std::nullopt
                                          : std::optional<std::size_t>(place - snapshot->queue.begin());
}

void Completion::open_stream(bool although_it_waits) {
    const auto now = std::chrono::steady_clock::now();
    switch (stream_->open(now)) {
        case SseStream::Opening::not_yet:
            if (!although_it_waits) {
                return;
            }
            stream_->open_waiting(now);
            break;
        case SseStream::Opening::failed:
            fail(*stream_->error());
            return;
        case SseStream::Opening::open:
            break;
    }
    opened_ = true;
    http::Reply reply;
    reply.content_type = "text/event-stream";
    reply.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    reply.stream = std::make_shared<SseBody>(shared_from_this());
    exchange_->send(with_id(std::move(reply)));
}

http::Body::Chunk Completion::next_chunk(http::TimePoint now) {
    using Kind = http::Body::Chunk::Kind;
    if (ended_) {
        return {Kind::end, {}, std::nullopt};
    }
    SseStream::Chunk chunk = stream_->next(now);
    switch (chunk.kind) {
        case SseStream::Chunk::Kind::data:
            return {Kind::data, std::move(chunk.bytes), std::nullopt};
        case SseStream::Chunk::Kind::wait:
            return {Kind::wait, {}, chunk.wake_at};
        case SseStream::Chunk::Kind::end:
            break;
    }
    if (stream_->error()) {
        cancel_all();
    }
    end();
    return {Kind::end, std::move(chunk.bytes), std::nullopt};
}

void Completion::collect() {
    bool all_done = true;
    for (std::size_t i = 0; i < outboxes_.size(); ++i) {
        Collector& collector = collectors_[i];
        while (!collector.done()) {
            std::optional<engine::Event> event = outboxes_[i]->try_pop();
            if (!event) {
                break;
            }
            collector.take(std::move(*event));
        }
        if (collector.error()) {
            fail(*collector.error());
            return;
        }
        all_done = all_done && collector.done();
    }
    if (!all_done) {
        return;
    }
    end();
    room_->pool.push([self = shared_from_this()] { self->send_whole(); });
}

void Completion::send_whole() {
    const Result<std::string> body = guarded([this]() -> Result<std::string> {
        std::vector<TaskResult> results;
        for (Collector& collector : collectors_) {
            results.push_back(std::move(collector).finish(*room_->model));
        }
        return whole_body(context_, results);
    });
    answer(reply_of(body, room_->config));
}

void Completion::on_submit_failed(const Error& error) {
    if (ended_) {
        return;
    }
    if (opened_) {
        stream_->fail(error);
        exchange_->wake();
    } else {
        fail(error);
    }
}

void Completion::fail(const Error& error) {
    http::Reply reply = error_reply(error, room_->config);  // `error` may be a part of what end() frees
    cancel_all();
    end();
    answer(std::move(reply));
}

/// The reply; only its body where the status has been sent already.
void Completion::answer(http::Reply reply) {
    if (waiting_body_) {
        waiting_body_->finish(std::move(reply.body));
        exchange_->wake();
    } else {
        exchange_->send(with_id(std::move(reply)));
    }
}

void Completion::end() {
    ended_ = true;
    const std::lock_guard lock(mutex_);
    if (submitted_) {
        outboxes_.clear();
        stream_.reset();
    } else {
        aborted_ = true;  // the worker is still submitting the others: it will clean up
    }
}

http::Reply Completion::with_id(http::Reply reply) const {
    reply.headers.push_back({"X-Request-Id", id_});
    return reply;
}

}  // namespace kvalet::api
