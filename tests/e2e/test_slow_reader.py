"""A client that reads slowly or not at all: bounded memory, nobody else is held up, and in the end it is let go."""

import contextlib
import json
import re

import pytest

from harness import post_bytes, prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
# Tokens enough to fill the outbox and every buffer of the system on the way, each with its probabilities.
LONG = 9000


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


@contextlib.contextmanager
def unread_stream(server, fields):
    """A stream on a plain socket that nobody reads."""
    with server.connect() as connection:
        connection.sendall(post_bytes("/completion", fields | {"stream": True}, close=True))
        yield connection


def entry(server, task):
    return next((r for r in server.requests()["data"] if r["id_task"] == task), None)


def stands_still(server, task):
    """Its outbox and every buffer behind it are full: it makes no token although it may."""
    before = entry(server, task)["n_decoded"]
    others = server.ok("/completion", body(400, 8))
    assert others["tokens_predicted"] == 400
    return before > 256 and entry(server, task)["n_decoded"] == before


def test_a_byte_at_a_time(servers):
    """One reads a byte now and then; three others say what they say without it, and memory stays bounded."""
    server = servers.fake("-c", 60000, "--parallel", 4, "--kv-unified", "--metrics", env={"KVALET_FAKE_DECODE_US": "300"})
    fields = [body(1500, seed) for seed in (2, 3, 4)]
    alone = [server.stream("/completion", f).wait_end().data()[:-1] for f in fields]
    before = server.process_figures()["rss_mib"]
    with unread_stream(server, body(LONG, 5, n_probs=20)) as slow:
        server.wait_until(lambda: len(server.requests()["data"]) == 1, "its arrival")
        task = server.requests()["data"][0]["id_task"]
        received = slow.recv(1)
        server.wait_until(lambda: stands_still(server, task), "its standstill")
        for _ in range(3):
            streams = server.streams("/completion", fields)
            received += slow.recv(1)
            assert [stream.final()["tokens_predicted"] for stream in streams] == [1500] * 3
            assert [stream.data()[:-1] for stream in streams] == alone
        assert entry(server, task)["n_decoded"] < LONG, "it was not decoded into a growing buffer"
        grown = server.process_figures()["rss_mib"] - before
        print(f"memory for a stream that nobody reads: {grown:.1f} MiB")
        assert grown < 32
    server.wait_until(lambda: server.requests()["data"] == [], "its end")


def test_it_makes_way_for_others_and_gets_all_of_it_later(servers):
    """While others wait for its slot or its cells it is parked; every byte is there when it reads again."""
    server = servers.fake("-c", 16384, "--parallel", 2, "--kv-unified", "--metrics")
    fields = body(LONG, 3, n_probs=10)
    alone = server.stream("/completion", fields).wait_end()
    with unread_stream(server, fields) as slow:
        server.wait_until(lambda: len(server.requests()["data"]) == 1, "its arrival")
        task = server.requests()["data"][0]["id_task"]
        server.wait_until(lambda: stands_still(server, task), "its standstill")
        streams = server.streams("/completion", [body(5000, seed) for seed in (4, 5, 6)])
        assert [stream.final()["tokens_predicted"] for stream in streams] == [5000] * 3
        metrics = server.metrics()
        assert metrics.label("n_preempt_by_reason_total", "reason", "slow_reader") >= 1
        assert entry(server, task)["is_preempted"] is True, "it stays away until it is read"
        received = b""
        while piece := slow.recv(1 << 20):
            received += piece
    assert received.endswith(b"0\r\n\r\n")
    assert b": preempted reason=slow_reader" in received and b": resumed" in received
    said = [line[6:] for line in re.findall(rb"data: [^\n]*", received)]
    assert len(said) == len(alone.data())
    assert [json.loads(s)["tokens"] for s in said[:-1]] == [json.loads(s)["tokens"] for s in alone.data()[:-1]]
    assert server.metrics()["preempt_ram_bytes"] == 0


def test_one_that_takes_nothing_for_too_long_is_ended(servers):
    server = servers.fake("-c", 16384, "--parallel", 2, "--kv-unified", "--metrics", "--slow-client-timeout", 1, env=SLOW)
    bystander = server.stream("/completion", body(3000, 2))
    with unread_stream(server, body(LONG, 3, n_probs=20)):
        server.wait_until(lambda: len(server.requests()["data"]) == 2, "its arrival")
        server.wait_until(lambda: len(server.requests()["data"]) < 2, "its end")
        assert "took nothing of its stream" in server.log()
    assert bystander.final()["tokens_predicted"] == 3000
