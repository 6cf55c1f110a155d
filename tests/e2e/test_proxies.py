"""Behind HAProxy and nginx with the configurations of deploy/ and the proxies' default timeouts: what a parked stream says
comes through at once and keeps the connection, and a client that leaves the proxy leaves the server."""

import contextlib
import itertools
import statistics
import time

import pytest

from harness import Stream, prompt_tokens
from harness.proxies import proxy

PROXIES = ["haproxy", "nginx"]
POOL = ["-c", 4096, "--parallel", 6, "--kv-unified", "--metrics"]
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
# More tokens than any test waits for.
ENDLESS = ["-c", 262144, "--parallel", 2, "--kv-unified", "--metrics"]
# HAProxy cuts after 50 s of silence and nginx after 60 s: one time is far above, the other far below.
PARKED_S = 90
UNCUT_S = 30
SILENT = {"sse_notices": "off", "sse_ping_interval": -1}

each_proxy = pytest.mark.parametrize("name", PROXIES)


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def park(server, stream):
    assert server.post(f"/requests/{stream.headers['x-request-id']}/park").status == 200


def unpark(server, stream):
    assert server.post(f"/requests/{stream.headers['x-request-id']}/unpark").status == 200


def is_parked(server, stream):
    states = {request["id"]: request["state"] for request in server.requests()["data"]}
    return states.get(stream.headers["x-request-id"]) in ("swapped", "dropped")


@pytest.mark.fake
@each_proxy
def test_notices_come_through_at_once(servers, tmp_path, name):
    """None of it may wait in a buffer: tokens are read while it generates, notices while it is parked."""
    server = servers.fake(*POOL, env=SLOW)
    fields = body(600, id_slot=0)
    alone = server.stream("/completion", fields).wait_end()
    with proxy(name, server, tmp_path) as front:
        stream = front.stream("/completion", fields).wait_tokens(3)
        assert stream.headers["content-type"] == "text/event-stream"
        park(server, stream)
        stream.wait_comment("preempted")
        assert stream.comments()[0].startswith("preempted reason=explicit")
        stream.wait_comment("preempt-keepalive")
        assert is_parked(server, stream) and not stream.ended
        unpark(server, stream)
        assert stream.final()["tokens_predicted"] == 600
        assert stream.data()[:-1] == alone.data()[:-1]
        assert stream.comment_words()[-1] == "resumed"


@pytest.mark.fake
@pytest.mark.parametrize("state", ["generating", "parked", "silent", "plain"])
@each_proxy
def test_a_client_that_goes_away_frees_the_slot(servers, tmp_path, name, state):
    """Also while nothing is written to it that could fail, be it parked without notices or not a stream: the proxy notices
    by itself, and says so to the server."""
    server = servers.fake(*ENDLESS, env=SLOW)
    fields = body(200000, stream=state != "plain", **SILENT if state == "silent" else {})
    with proxy(name, server, tmp_path) as front:
        stream = Stream(front.port, "/completion", fields)
        server.wait_until(lambda: server.metrics()["requests_processing"] == 1, "its arrival")
        if state in ("parked", "silent"):
            park(server, stream.wait_tokens(3))
        stream.abort()
        server.wait_until(server.nothing_left, "a server without requests", timeout_s=UNCUT_S)
        assert front.request("POST", "/completion", body(5)).json()["tokens_predicted"] == 5


@pytest.mark.fake
@each_proxy
def test_tokens_come_one_by_one(servers, tmp_path, name):
    """Not several in a packet that waited for them: then most of the times between two tokens would be nothing."""
    server = servers.fake(*POOL, env={"KVALET_FAKE_DECODE_US": "50000"})
    with proxy(name, server, tmp_path) as front:
        stream = front.stream("/completion", body(50)).wait_end()
        times = stream.token_times()
        assert len(times) > 20
        assert statistics.median(after - before for before, after in itertools.pairwise(times)) > 0.005


@pytest.mark.fake
@each_proxy
def test_a_large_prompt_passes(servers, tmp_path, name):
    server = servers.fake(*POOL)
    with proxy(name, server, tmp_path) as front:
        reply = front.request("POST", "/tokenize", {"content": "word " * 500_000})
        assert reply.status == 200, reply
        assert len(reply.json()["tokens"]) >= 2_500_000


@pytest.mark.fake
def test_haproxy_sends_nothing_new_to_a_server_that_drains(servers, tmp_path):
    server = servers.fake(*ENDLESS, env=SLOW)
    with proxy("haproxy", server, tmp_path) as front:
        stream = front.stream("/completion", body(200000)).wait_tokens(3)
        server.signal()
        front.wait_until(lambda: "kvalet/kvalet1 is DOWN" in front.log(), "a server that is out")
        assert "Layer7 wrong status, code: 503" in front.log()
        refused = front.request("POST", "/completion", body(5))
        assert refused.status == 503 and b"No server is available" in refused.body, "HAProxy's own answer"
        stream.wait_tokens(stream.n_tokens() + 50)
        stream.abort()
        assert server.wait_exit() == 0
        servers.forget(server)


class Parked:
    """A stream through a proxy that is parked in its middle."""

    def __init__(self, server, front, slot, notices):
        self.server, self.name, self.notices = server, front.name, notices
        fields = body(600, slot + 1, id_slot=slot) | (SILENT if notices == "off" else {"sse_notices": notices})
        self.alone = server.stream("/completion", fields).wait_end()
        self.alone.final()
        self.stream = front.stream("/completion", fields).wait_tokens(3)
        park(server, self.stream)

    def check_whole(self):
        assert self.stream.final()["tokens_predicted"] == 600, self.name
        assert self.stream.text() == self.alone.text(), self.name
        if self.notices == "comments":
            assert self.stream.data()[:-1] == self.alone.data()[:-1], self.name
            assert self.stream.comment_words()[-1] == "resumed"


def test_parked_for_ninety_seconds(servers, tmp_path):
    """Takes as long as it says: the timeouts of the proxies as Debian ships them, 50 s and 60 s without a byte, are what is
    tested, and they cannot be had faster. All of it therefore is in one test and runs at the same time: through each proxy
    a stream with comments, one with notices as data, and, to show that the test can fail, one that says nothing at all
    while it is parked. That one is cut; the others come to their end, unchanged."""
    server = servers.fake(*POOL, env=SLOW)
    with contextlib.ExitStack() as stack:
        fronts = [stack.enter_context(proxy(name, server, tmp_path)) for name in PROXIES]
        cells = [(front, notices) for front in fronts for notices in ("comments", "data", "off")]
        all_parked = [Parked(server, *cell_of(cells, slot)) for slot in range(len(cells))]
        speaking = [parked for parked in all_parked if parked.notices != "off"]
        silent = [parked for parked in all_parked if parked.notices == "off"]
        until = time.monotonic() + PARKED_S
        while time.monotonic() < until:
            assert not any(parked.stream.ended for parked in speaking)
            time.sleep(0.1)
        for parked in silent:
            parked.stream.wait_end()
            assert not parked.stream.clean and parked.stream.failure, f"{parked.name} did not cut the silent stream"
        server.wait_until(lambda: server.metrics()["requests_preempted"] == len(speaking), "only those that speak")
        for parked in speaking:
            assert is_parked(server, parked.stream)
            unpark(server, parked.stream)
        for parked in speaking:
            parked.check_whole()
        server.wait_until(server.nothing_left, "a server without requests")


def cell_of(cells, slot):
    front, notices = cells[slot]
    return front, slot, notices
