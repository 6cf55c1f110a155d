"""What a parked stream says (P8, F19, F20, F29)."""

import json

import pytest

from harness import prompt_tokens

SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 1024, "--parallel", 3, "--kv-unified", "--metrics"]
# P8.3 says 2.5 s. End to end, on a machine that may be busy, only that the deadlines are kept at all is asserted.
GAP_S = 5


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def chat(n_predict, **more):
    return {"messages": [{"role": "user", "content": "words"}], "max_tokens": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def ask_body(route, n_predict, **more):
    return (chat if "chat" in route else body)(n_predict, **more)


@pytest.mark.fake
@pytest.mark.parametrize("route", ["/completion", "/v1/completions", "/v1/chat/completions"])
def test_comments_in_order_and_the_same_body(servers, route):
    plain = servers.fake(*POOL)
    parked = servers.fake(*POOL, env={"LLAMA_SERVER_PREEMPT_EVERY": "64"})
    fields = ask_body(route, 300) | ({"prompt": "words"} if route == "/v1/completions" else {})
    alone, stream = plain.stream(route, fields).wait_end(), parked.stream(route, fields).wait_end()
    assert stream.said() == alone.said()
    assert alone.comments() == []
    assert stream.comment_words() == ["preempted", "resumed"] * 4
    assert stream.comments()[0].startswith("preempted reason=forced")
    frames = stream.body.decode().split("\n\n")
    assert frames.pop() == ""
    assert all(frame.count("\n") == 0 and frame.startswith((": ", "data: ")) for frame in frames)  # each a frame of its own
    if route == "/completion":
        tokens_before = []
        n = 0
        for frame in frames:
            n += json.loads(frame[6:])["tokens_predicted"] - n if frame.startswith("data: ") and '"stop":false' in frame else 0
            if frame.startswith(": preempted"):
                tokens_before.append(n)
        assert all(abs(n - 64 * i) <= 3 for i, n in enumerate(tokens_before, start=1)), tokens_before  # within a character


@pytest.mark.fake
def test_a_plain_request_is_untouched(servers):
    parked = servers.fake(*POOL, env={"LLAMA_SERVER_PREEMPT_EVERY": "64"})
    reply = parked.post("/completion", body(300))
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.body.startswith(b'{"index":0,')


@pytest.mark.parametrize("preset", ["swap", "recompute"])
def test_two_that_overflow_and_one_that_says_so(servers, preset):
    server = servers.tiny("-c", 512, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", preset)
    streams = server.streams("/completion", [{"prompt": prompt_tokens(150, seed), "n_predict": 300, "ignore_eos": True} for seed in (1, 2)])
    for stream in streams:
        assert stream.final()["tokens_predicted"] == 300
        words = [word for word in stream.comment_words() if word != "preempt-keepalive"]
        assert words == ["preempted", "resumed"] * (len(words) // 2)
    assert sum(stream.comment_words().count("preempted") for stream in streams) == server.metrics()["n_preempt_total"] > 0
    assert any(comment.startswith("preempted reason=kv_full") for stream in streams for comment in stream.comments())


@pytest.mark.fake
def test_keepalives_while_others_run_at_full_speed(servers):
    """F29: twelve seconds, in which the deadlines are not postponed by the traffic of seven others."""
    server = servers.fake("-c", 65536, "--parallel", 8, "--kv-unified", "--sse-ping-interval", -1, env={"KVALET_FAKE_DECODE_US": "2000"})
    stream = server.stream("/completion", body(50)).wait_tokens(3)
    others = [server.stream("/completion", body(6500, seed)) for seed in range(2, 9)]
    path = f"/requests/{stream.headers['x-request-id']}"
    assert server.post(f"{path}/park").status == 200
    stream.wait_comment("preempt-keepalive", 6, timeout_s=60)
    assert not any(other.ended for other in others), "they run all the while"
    assert server.post(f"{path}/unpark").status == 200
    assert stream.final()["tokens_predicted"] == 50
    since = [line.at for line in stream.lines if line.text.startswith(": pre")]
    gaps = [b - a for a, b in zip(since, since[1:])]
    print("gaps between the lines of the parked stream:", [round(gap, 3) for gap in gaps])
    assert max(gaps) < GAP_S
    assert min(gaps[1:]) > 1, "keepalives come every 2 s, not in a flood"
    for other in others:
        assert other.final()["tokens_predicted"] == 6500


@pytest.mark.fake
def test_parked_before_its_first_token(servers):
    """P8.2, F19: headers and the comment go out at once, not with the first token."""
    env = {"KVALET_FAKE_TOKEN_US": "2000"}
    server = servers.fake(*POOL, "--prefill-chunk", 16, env=env)
    bystander = server.stream("/completion", body(600, 2)).wait_tokens(1)
    stream = server.stream("/completion", {"prompt": prompt_tokens(500, 5, fake=True), "n_predict": 10, "ignore_eos": True})
    server.wait_until(lambda: any(r["n_prompt"] == 500 and 0 < r["n_prompt_processed"] < 400 for r in server.requests()["data"]), "its prompt under way")
    request = next(r for r in server.requests()["data"] if r["n_prompt"] == 500)
    assert server.post(f"/requests/{request['id']}/park").status == 200
    stream.wait_comment("preempted")
    assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
    assert stream.events() == []
    stream.wait_comment("preempt-keepalive", timeout_s=30)
    assert stream.events() == []
    assert server.post(f"/requests/{request['id']}/unpark").status == 200
    final = stream.final()
    assert final["tokens_predicted"] == 10
    assert final["timings"]["prompt_n"] + final["timings"]["cache_n"] == 500
    bystander.final()


@pytest.mark.fake
@pytest.mark.parametrize("route", ["/completion", "/v1/completions", "/v1/chat/completions"])
@pytest.mark.parametrize("by", ["flag", "field"])
def test_notices_as_data_or_not_at_all(servers, route, by):
    """F20: some clients break on comments, or count only data."""
    env = {"LLAMA_SERVER_PREEMPT_EVERY": "10"}
    plain = servers.fake(*POOL)
    fields = ask_body(route, 35) | ({"prompt": "words"} if route == "/v1/completions" else {})
    alone = plain.stream(route, fields).wait_end()
    for word in ("off", "data"):
        flags = ["--sse-notices", word] if by == "flag" else []
        server = servers.fake(*POOL, *flags, env=env)
        stream = server.stream(route, fields | ({"sse_notices": word} if by == "field" else {})).wait_end()
        assert stream.comments() == []
        assert stream.text() == alone.text()
        if word == "off":
            assert stream.said() == alone.said()
            continue
        extra = len(stream.events()) - len(alone.events())
        assert extra == 2 * server.metrics()["n_preempt_total"] == 6
        shapes = [sorted(event) for event in alone.events()[:2]]
        for event in stream.events()[:-3]:
            assert sorted(event) in shapes, "a chunk of the stream's own kind"
        assert [e for e in stream.said() if e in alone.said()] == alone.said()


@pytest.mark.fake
def test_a_request_may_ask_for_comments_where_they_are_off(servers):
    server = servers.fake(*POOL, "--sse-notices", "off", env={"LLAMA_SERVER_PREEMPT_EVERY": "10"})
    stream = server.stream("/completion", body(25, sse_notices="comments")).wait_end()
    assert stream.comment_words() == ["preempted", "resumed"] * 2


@pytest.mark.fake
@pytest.mark.parametrize("by", ["flag", "field"])
def test_pings_of_a_silent_stream(servers, by):
    """llama-server-api 3.8: a bare comment when nothing was sent for so long."""
    flags = ["--sse-ping-interval", 1] if by == "flag" else []
    server = servers.fake(*POOL, *flags, env={"KVALET_FAKE_DECODE_US": "1300000"})
    stream = server.stream("/completion", body(3, **({"sse_ping_interval": 1} if by == "field" else {}))).wait_end()
    assert stream.final()["tokens_predicted"] == 3
    assert "" in stream.comments()
    assert set(stream.comments()) == {""}


@pytest.mark.fake
def test_each_event_is_a_chunk_of_its_own(servers):
    server = servers.fake(*POOL, env=SLOW)
    stream = server.stream("/completion", body(20)).wait_end()
    stream.final()
    assert all(chunk.endswith(b"\n\n") and chunk.count(b"data: ") == 1 for chunk in stream.chunks)
