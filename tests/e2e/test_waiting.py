"""Requests that wait for a slot: streams get headers and signs of life, whole replies white space if they were asked to (F19)."""

import json
import time

import pytest

from harness import post_bytes, prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 16384, "--parallel", 2, "--kv-unified", "--metrics"]
ROUTES = ["/completion", "/v1/completions", "/v1/chat/completions"]
# Keepalives come every 2 s. End to end, on a machine that may be busy, only that the deadlines are kept at all is asserted.
GAP_S = 5


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def ask_body(route, n_predict, **more):
    if "chat" in route:
        return {"messages": [{"role": "user", "content": "words"}], "max_tokens": n_predict, "ignore_eos": True} | more
    return body(n_predict, 9, **more) | ({"prompt": "words"} if route == "/v1/completions" else {})


def hold_all(server):
    """Both slots taken, for as long as it takes."""
    return [server.stream("/completion", body(15000, seed)).wait_tokens(1) for seed in (1, 2)]


@pytest.mark.parametrize("route", ROUTES)
def test_a_stream_in_the_queue_hears_that_it_waits(servers, route):
    server = servers.fake(*POOL, env=SLOW)
    alone = server.stream(route, ask_body(route, 20)).wait_end()
    assert alone.comments() == []
    holders = hold_all(server)
    first = server.stream(route, ask_body(route, 20)).wait_comment("queued")
    assert first.status == 200 and first.headers["content-type"] == "text/event-stream"
    assert first.headers["cache-control"] == "no-cache" and first.headers["x-accel-buffering"] == "no"
    assert first.comments() == ["queued ahead=0"]
    second = server.stream(route, ask_body(route, 20)).wait_comment("queued")
    assert second.comments() == ["queued ahead=1"]
    second.wait_comment("queue-keepalive", 3, timeout_s=60)
    assert second.events() == [] and "queue-keepalive ahead=1" in second.comments()
    at = [line.at for line in second.lines if line.text.startswith(":")]
    gaps = [b - a for a, b in zip(at, at[1:])]
    print("gaps between the lines of the waiting stream:", [round(gap, 3) for gap in gaps])
    assert max(gaps) < GAP_S
    holders[0].abort()
    for stream in (first, second):
        assert stream.said() == alone.said()
    holders[1].abort()


def test_one_that_is_let_in_at_once_hears_nothing(servers):
    server = servers.fake(*POOL)
    streams = server.streams("/completion", [body(50, seed) for seed in (1, 2)])
    assert [stream.final()["tokens_predicted"] for stream in streams] == [50, 50]
    assert all(stream.comments() == [] for stream in streams)


@pytest.mark.parametrize("notices", ["data", "off"])
@pytest.mark.parametrize("route", ROUTES)
def test_waiting_as_data_or_in_silence(servers, route, notices):
    server = servers.fake(*POOL, "--sse-notices", notices, env=SLOW)
    alone = server.stream(route, ask_body(route, 20)).wait_end()
    holders = hold_all(server)
    stream = server.stream(route, ask_body(route, 20))
    server.wait_until(lambda: server.requests()["n_waiting"] == 1, "one that waits")
    if notices == "data":
        stream.wait(lambda s: len(s.events()) >= 2, "two empty events", timeout_s=30)
    else:
        probe = server.stream("/completion", body(5, 7, sse_notices="comments")).wait_comment("queued")  # came later
        assert stream.status is None, "headers come with its slot, as on llama-server"
        probe.abort()
    holders[0].abort()
    stream.final()
    assert stream.comments() == [] and stream.text() == alone.text()
    if notices == "off":
        assert stream.said() == alone.said()
    holders[1].abort()


def test_what_is_wrong_with_it_still_has_its_status(servers):
    server = servers.fake(*POOL, "--queue-max", 1, env=SLOW)
    holders = hold_all(server)
    waiting = server.stream("/completion", body(5, 5)).wait_comment("queued")
    assert server.post("/completion", body("many", stream=True)).status == 400
    assert server.post("/completion", body(5, stream=True) | {"prompt": prompt_tokens(17000, fake=True)}).status == 400
    full = server.post("/completion", body(5, stream=True))
    assert full.status == 429 and int(full.headers["retry-after"]) > 0
    holders[0].abort()
    assert waiting.final()["tokens_predicted"] == 5
    holders[1].abort()


def test_a_waiting_stream_that_leaves_cancels_nobody_else(servers):
    server = servers.fake(*POOL, env=SLOW)
    holders = hold_all(server)
    waiting = [server.stream("/completion", body(10, seed)).wait_comment("queued") for seed in (3, 4, 5)]
    waiting[1].abort()
    server.wait_until(lambda: server.requests()["n_waiting"] == 2, "its end")
    holders[0].abort()
    for stream in (waiting[0], waiting[2]):
        assert stream.final()["tokens_predicted"] == 10
    assert not holders[1].ended
    holders[1].abort()


def test_white_space_in_front_of_a_body_that_takes_long(servers):
    """It comes after 15 s: the test takes as long."""
    server = servers.fake(*POOL, "--http-keepalive-body", env=SLOW)
    plain = server.ok("/completion", body(5))
    holders = hold_all(server)
    with server.connect() as connection:
        begin = time.monotonic()
        connection.sendall(post_bytes("/completion", body(5), close=True))
        received = b""
        while b"\r\n1\r\n \r\n" not in received:
            received += connection.recv(4096)
        assert time.monotonic() - begin > 14, "not before it is needed"
        holders[0].abort()
        while piece := connection.recv(4096):
            received += piece
    head, rest = received.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200") and b"application/json" in head
    assert json.loads(rest[rest.index(b"{") : rest.rindex(b"}") + 1])["content"] == plain["content"]
    holders[1].abort()
