"""SIGTERM drains: new work gets 503, what is resident, waiting or parked finishes, exit code 0; a second signal ends at
once, with an error event per stream (architecture.md, last section)."""

import signal

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "3000"}


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True} | more


PREDICT = [400, 400, 400, 20, 20]


def busy(servers):
    """A server with one parked by its client's wish, two running, and two waiting."""
    server = servers.fake("-c", 2048, "--parallel", 2, "--kv-unified", env=SLOW)
    streams = [server.stream("/completion", body(PREDICT[0])).wait_tokens(3)]
    request_id = streams[0].headers["x-request-id"]
    assert server.post(f"/requests/{request_id}/park").json()["is_preempted"] is True
    for seed in (1, 2):  # the parked one's slot is free for others
        streams.append(server.stream("/completion", body(PREDICT[seed], seed)).wait_tokens(1))
    streams += [server.stream("/completion", body(PREDICT[seed], seed)) for seed in (3, 4)]
    server.wait_until(lambda: server.requests()["n_waiting"] == 2, "two that wait", 30)
    return server, streams


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_what_is_there_finishes(servers, number):
    """What its client parked comes back by itself: nobody may be there to unpark it."""
    server, streams = busy(servers)
    server.signal(number)
    server.wait_until(lambda: server.health() != 200, "draining")
    refused = {"code": 503, "message": "The server is shutting down", "type": "unavailable_error"}
    assert server.get("/health").error == refused
    assert server.post("/completion", body(5)).error == refused
    assert server.get("/slots").status == 200
    assert [stream.final()["tokens_predicted"] for stream in streams] == PREDICT
    assert server.wait_exit() == 0


def test_a_plain_request_gets_its_answer(servers):
    server = servers.fake("-c", 1024, "--parallel", 1, env=SLOW)
    stream = server.stream("/v1/completions", {"prompt": "x", "max_tokens": 100, "ignore_eos": True}).wait_tokens(1)
    server.signal()
    assert stream.finish_reason() == "length"
    assert server.wait_exit() == 0


def test_a_second_signal_ends_at_once(servers):
    server, streams = busy(servers)
    server.signal()
    server.wait_until(lambda: server.health() == 503, "draining")
    server.signal()
    assert server.wait_exit() == 1
    servers.forget(server)  # its exit code is seen
    opened = streams[:3]  # the others were waiting, without a status
    for stream in opened:
        stream.wait_end()
        assert stream.clean, stream.failure
        assert stream.error()["code"] == 503 and stream.error()["type"] == "unavailable_error"
        assert "[DONE]" not in stream.data()
    for stream in streams[3:]:
        stream.wait_end()
        assert stream.status in (None, 503) or stream.error()["code"] == 503


def test_an_idle_server_ends_at_once(servers):
    server = servers.fake()
    with server.connect() as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(4096).startswith(b"HTTP/1.1 200")  # it is taken in, and not only in the system's queue
        assert server.end() == 0
        assert idle.recv(100) == b""
