"""A thousand streams that wait, and long prompts: health and state are answered all the same (F25, F26)."""

import contextlib
import json
import pathlib
import re
import time

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
N = 1000
INFOS = ["/health", "/slots", "/metrics", "/requests", "/v1/models"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def waiting_streams(server, stack, n):
    """Plain sockets that nobody reads; they want a slot that somebody has."""
    data = json.dumps(body(5, 3, id_slot=1, stream=True)).encode()
    head = f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    sockets = [stack.enter_context(server.connect()) for _ in range(n)]
    for connection in sockets:
        connection.sendall(head + data)
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


def process_figures(server) -> tuple[int, float]:
    """Threads and resident MiB."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"Threads:\s+(\d+)", text).group(1)), int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def parked_streams(server, stack, n):
    """Each is let in, says its first word, and is parked by its client; its slot is then for the next."""
    data = json.dumps(body(500, 3, stream=True)).encode()
    head = f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode()
    sockets = []
    for _ in range(n):
        connection = stack.enter_context(server.connect())
        connection.sendall(head + data)
        received = b""
        while b"data: " not in received:
            received += connection.recv(4096)
        name = re.search(rb"x-request-id: (\S+)", received, re.IGNORECASE).group(1).decode()
        assert server.post(f"/requests/{name}/park").status == 200
        sockets.append(connection)
    return sockets


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
    threads, rss = process_figures(server)
    with contextlib.ExitStack() as stack:
        sockets = parked_streams(server, stack, N)
        for connection in sockets:
            read_now(connection)
        busy_threads, busy_rss = process_figures(server)
        print(f"{preset}: {N} parked streams: {busy_threads - threads} more threads, {busy_rss - rss:.1f} MiB")
        assert busy_threads == threads
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
