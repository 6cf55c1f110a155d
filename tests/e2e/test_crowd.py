"""A thousand streams that wait, and long prompts: health and state are answered all the same (F25, F26)."""

import contextlib
import time

import pytest

from harness import open_parked, post_bytes, prompt_tokens

pytestmark = pytest.mark.fake
N = 1000
INFOS = ["/health", "/slots", "/metrics", "/requests", "/v1/models"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def waiting_streams(server, stack, n):
    """Plain sockets that nobody reads; they want a slot that somebody has."""
    sockets = [stack.enter_context(server.connect()) for _ in range(n)]
    for connection in sockets:
        connection.sendall(post_bytes("/completion", body(5, 3, id_slot=1, stream=True)))
    return sockets


def test_a_thousand_waiting_streams_and_all_leave_in_one_go(servers):
    server = servers.fake("-c", 60000, "--parallel", 2, "--kv-unified", "--metrics", env={"KVALET_FAKE_DECODE_US": "1000"})
    alone = server.stream("/completion", body(300, 2, id_slot=0)).wait_end().data()[:-1]
    holder = server.stream("/completion", body(50000, 1, id_slot=1)).wait_tokens(1)
    with contextlib.ExitStack() as stack:
        waiting_streams(server, stack, N)
        server.wait_until(lambda: server.metrics()["requests_deferred"] == N, "a thousand that wait")
        for path in INFOS:
            assert server.get(path).status == 200
        assert server.requests()["n_waiting"] == N
        bystander = server.stream("/completion", body(300, 2, id_slot=0)).wait_tokens(1)
    server.wait_until(lambda: server.metrics()["requests_deferred"] == 0, "their end")
    bystander.final()
    assert bystander.data()[:-1] == alone
    holder.abort()
    server.wait_until(lambda: server.requests()["data"] == [], "the end of the last")


def read_now(connection) -> bytes:
    """What has come so far."""
    connection.setblocking(False)
    received = b""
    with contextlib.suppress(BlockingIOError):
        while piece := connection.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize("preset", ["swap", "recompute"])
def test_a_thousand_parked_streams_and_all_leave_in_one_go(servers, preset):
    flags = ["-c", 60000, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", preset]
    server = servers.fake(*flags, env={"KVALET_FAKE_DECODE_US": "1000"})
    alone = server.stream("/completion", body(300, 2)).wait_end().tokens()
    quiet = server.process_figures()
    with contextlib.ExitStack() as stack:
        sockets = open_parked(server, body(500, 3), N)
        for connection in sockets:
            stack.enter_context(connection)
            read_now(connection)
        busy = server.process_figures()
        more = {name: busy[name] - quiet[name] for name in quiet}
        print(f"{preset}: {N} parked streams: {more['threads']} more threads, {more['rss_mib']:.1f} MiB")
        assert more["threads"] == 0
        assert server.metrics()["requests_preempted"] == N
        assert (server.metrics()["preempt_ram_bytes"] > 0) == (preset == "swap")
        heard = [b""] * N

        def all_heard() -> bool:
            for i, connection in enumerate(sockets):
                heard[i] += b"" if b": preempt-keepalive" in heard[i] else read_now(connection)
            return all(b": preempt-keepalive" in said for said in heard)

        server.wait_until(all_heard, "a keepalive on each")
        for path in INFOS:
            assert server.get(path).status == 200
        bystander = server.stream("/completion", body(300, 2)).wait_tokens(1)
        begin = time.monotonic()
    server.wait_until(lambda: server.metrics()["requests_preempted"] == 0, "their end")
    print(f"{preset}: all gone {time.monotonic() - begin:.2f} s after the first close")
    assert server.metrics()["preempt_ram_bytes"] == 0
    bystander.final()
    assert bystander.tokens() == alone
    assert server.requests()["data"] == [] and not any(slot["is_processing"] for slot in server.slots())
    assert server.ok("/completion", body(5, 3))["tokens_predicted"] == 5


def test_a_long_prompt_does_not_hide_the_state(servers):
    """One step of 2,048 tokens that takes two seconds: everything is answered before it is over."""
    server = servers.fake("-c", 8192, "--parallel", 2, "--kv-unified", "--metrics", env={"KVALET_FAKE_TOKEN_US": "1000"})
    stream = server.stream("/completion", {"prompt": prompt_tokens(2047, fake=True), "n_predict": 1})
    server.wait_until(lambda: server.requests()["n_resident"] == 1, "a slot for it")
    for _ in range(20):
        for path in INFOS:
            assert server.get(path).status == 200
    assert server.slots()[0]["is_processing"] is True
    assert stream.events() == [] and not stream.ended
    assert stream.final()["tokens_predicted"] == 1


def test_a_long_prompt_does_not_stop_the_others(servers):
    """It is fed in chunks: a chat goes on while 2,000 tokens are processed."""
    server = servers.fake("-c", 8192, "--parallel", 2, "--kv-unified", "--prefill-chunk", 64, env={"KVALET_FAKE_TOKEN_US": "200"})
    chat = server.stream("/completion", body(2000)).wait_tokens(5)
    n_before = chat.n_tokens()
    long = server.stream("/completion", {"prompt": prompt_tokens(2000, 5, fake=True), "n_predict": 2}).wait_end()
    assert chat.n_tokens() - n_before >= 2000 // 64 // 2
    long.final()
    assert chat.final()["tokens_predicted"] == 2000
