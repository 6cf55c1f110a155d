"""A client that goes away is noticed wherever its request is; what it held is free, and nobody else's bytes change (P8.5)."""

import pytest

from harness import post_bytes, prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 1024, "--parallel", 2, "--kv-unified", "--metrics"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


class Bystander:
    """Runs beside; must say what it says alone."""

    def __init__(self, server, n_predict=400):
        self.server = server
        self.fields = body(n_predict, 77, id_slot=0)
        self.alone = server.stream("/completion", self.fields).wait_end().data()[:-1]
        self.stream = server.stream("/completion", self.fields).wait_tokens(2)

    def check(self):
        self.stream.final()
        assert self.stream.data()[:-1] == self.alone
        self.server.wait_until(self.server.nothing_left, "a server without requests")
        assert self.server.ok("/completion", body(5))["tokens_predicted"] == 5


def test_while_generating(servers):
    server = servers.fake(*POOL, env=SLOW)
    bystander = Bystander(server)
    stream = server.stream("/completion", body(900)).wait_tokens(3)
    stream.abort()
    server.wait_until(lambda: len(server.requests()["data"]) <= 1, "its end")
    assert not bystander.stream.ended, "it was noticed at once"
    bystander.check()


def test_while_waiting(servers):
    """And those behind it in the queue are not touched."""
    server = servers.fake(*POOL, env=SLOW)
    bystander = Bystander(server, 600)
    holder = server.stream("/completion", body(200, 2)).wait_tokens(1)
    waiting = [server.stream("/completion", body(10, seed)) for seed in (3, 4, 5)]
    server.wait_until(lambda: server.requests()["n_waiting"] == 3, "three that wait")
    waiting[1].abort()
    server.wait_until(lambda: server.requests()["n_waiting"] == 2, "its end")
    assert not holder.ended
    for stream in (holder, waiting[0], waiting[2]):
        stream.final()
    bystander.check()


def test_in_the_prompt(servers):
    server = servers.fake(*POOL, "--prefill-chunk", 8, env={"KVALET_FAKE_TOKEN_US": "1000"})
    bystander = Bystander(server, 150)
    stream = server.stream("/completion", {"prompt": prompt_tokens(800, 5, fake=True), "n_predict": 10})
    server.wait_until(lambda: any(0 < r["n_prompt_processed"] < 400 and r["n_prompt"] == 800 for r in server.requests()["data"]), "its prompt")
    stream.abort()
    server.wait_until(lambda: all(r["n_prompt"] != 800 for r in server.requests()["data"]), "its end")
    assert not bystander.stream.ended
    bystander.check()


@pytest.mark.parametrize("preset", ["swap", "recompute"])
def test_while_parked(servers, preset):
    server = servers.fake(*POOL, "--preempt-preset", preset, env=SLOW)
    bystander = Bystander(server)
    stream = server.stream("/completion", body(500)).wait_tokens(3)
    assert server.post(f"/requests/{stream.headers['x-request-id']}/park").status == 200
    assert (server.metrics()["preempt_ram_bytes"] > 0) == (preset == "swap")
    stream.abort()
    server.wait_until(lambda: server.metrics()["requests_preempted"] == 0, "its end")
    assert server.metrics()["preempt_ram_bytes"] == 0
    assert not bystander.stream.ended
    bystander.check()


def test_while_parked_for_lack_of_room(servers):
    """Those who stay get the room of those who leave."""
    server = servers.fake("-c", 256, "--parallel", 4, "--kv-unified", "--metrics", env=SLOW)
    streams = [server.stream("/completion", body(150, seed)) for seed in range(4)]
    server.wait_until(lambda: server.metrics()["requests_preempted"] > 0, "a parked one")
    parked = [stream for stream in streams if "preempted" in stream.comment_words()]
    assert parked
    parked[0].abort()
    for stream in streams:
        if stream is not parked[0]:
            assert stream.final()["tokens_predicted"] == 150
    server.wait_until(server.nothing_left, "a server without requests")


@pytest.mark.parametrize("route", ["/completion", "/v1/chat/completions"])
def test_a_plain_request(servers, route):
    """Without a stream nothing is written that could fail: the closed connection itself is the event."""
    server = servers.fake(*POOL, env=SLOW)
    bystander = Bystander(server)
    fields = body(900) | {"messages": [{"role": "user", "content": "x"}]}
    with server.connect() as connection:
        connection.sendall(post_bytes(route, fields))
        server.wait_until(lambda: len(server.requests()["data"]) == 2, "its arrival")
    server.wait_until(lambda: len(server.requests()["data"]) <= 1, "its end")
    assert not bystander.stream.ended
    bystander.check()


def test_two_hundred_in_one_go(servers):
    server = servers.fake("-c", 1024, "--parallel", 4, "--kv-unified", "--metrics", env=SLOW)
    bystander = Bystander(server, 600)
    streams = [server.stream("/completion", body(300, seed % 50)) for seed in range(200)]
    server.wait_until(lambda: server.requests()["n_waiting"] >= 100, "a long queue")
    for stream in streams:
        stream.socket.close()
    for stream in streams:
        stream.abort()
    server.wait_until(lambda: server.requests()["n_waiting"] == 0, "their end")
    bystander.check()


def test_forced_parks_and_leaving_at_every_moment(servers):
    """Parked or restored or generating when it leaves: nothing stays behind."""
    server = servers.fake(*POOL, env={"LLAMA_SERVER_PREEMPT_EVERY": "2", "KVALET_FAKE_DECODE_US": "300"})
    for n in range(1, 40):
        server.stream("/completion", body(300, n)).wait_tokens(n % 13 + 1).abort()
    server.wait_until(server.nothing_left, "a server without requests")
    metrics = server.metrics()
    assert metrics["n_preempt_total"] >= metrics["n_resume_total"] > 0
    assert server.ok("/completion", body(20))["tokens_predicted"] == 20


def test_a_reader_that_stops_reading_holds_up_nobody(servers):
    """A bounded outbox: the others run on, and what the slow one missed is there when it reads again."""
    server = servers.fake("-c", 8192, "--parallel", 2, "--kv-unified", "--metrics")
    fields = body(6000, 3, id_slot=1, n_probs=3)
    alone = server.stream("/completion", fields).wait_end()
    with server.connect() as slow:
        slow.sendall(post_bytes("/completion", fields | {"stream": True}, close=True))
        server.wait_until(lambda: len(server.requests()["data"]) == 1, "its arrival")
        assert server.ok("/completion", body(500, 4))["tokens_predicted"] == 500
        assert server.requests()["data"][0]["n_decoded"] < 6000, "it was not decoded into a growing buffer"
        received = b""
        while piece := slow.recv(1 << 20):
            received += piece
    assert received.endswith(b"0\r\n\r\n")
    assert received.count(b'"stop":false') == len(alone.token_times())
