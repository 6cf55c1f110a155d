"""Who is more important (P1.6, P2, P7.1; F7)."""

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 512, "--parallel", 4, "--kv-unified", "--metrics"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True} | more


@pytest.mark.parametrize("preset", ["priority", "default"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_the_important_one_is_never_parked_and_ends_first(servers, place, preset):
    server = servers.fake(*POOL, "--preempt-preset", preset, env=SLOW)
    priorities = [10, 0, 0, 0] if place == "first" else [0, 0, 0, 10]
    streams = [server.stream("/completion", body(250, seed, priority=p)) for seed, p in enumerate(priorities)]
    for stream in streams:
        assert stream.final()["tokens_predicted"] == 250
    important = streams[priorities.index(10)]
    assert important.comments() == []
    assert [slot["n_preempt"] for slot in server.slots() if slot["priority"] == 10] == [0]
    assert important.lines[-1].at == min(stream.lines[-1].at for stream in streams)
    assert server.metrics()["n_preempt_total"] > 0


def test_all_slots_busy_and_an_important_one_comes(servers):
    """F7: its first token comes before any of the running ones finishes; the one that gave way finishes too."""
    server = servers.fake("-c", 4096, "--parallel", 4, "--kv-unified", "--metrics", env=SLOW)
    running = [server.stream("/completion", body(800, seed)).wait_tokens(1) for seed in range(4)]
    late = server.stream("/completion", body(20, 9, priority=10)).wait_end()
    assert late.final()["tokens_predicted"] == 20
    for stream in running:
        assert stream.final()["tokens_predicted"] == 800
    assert late.token_times()[0] < min(stream.lines[-1].at for stream in running)
    assert server.metrics().label("n_preempt_by_reason_total", "reason", "priority") == 1
    assert server.metrics()["n_preempt_total"] == 1


def test_equals_never_displace_each_other(servers):
    """F7: no park by priority among equals, however many wait."""
    server = servers.fake(*POOL, env=SLOW)
    streams = server.streams("/completion", [body(60, seed, priority=3) for seed in range(16)])
    for stream in streams:
        assert stream.final()["tokens_predicted"] == 60
    assert server.metrics().label("n_preempt_by_reason_total", "reason", "priority") == 0


def test_more_important_ones_wait_less(servers):
    server = servers.fake("-c", 512, "--parallel", 1, "--metrics", env=SLOW)
    running = server.stream("/completion", body(150, priority=50)).wait_tokens(1)
    waiting = {}
    for priority in (0, 5, -5, 20):
        waiting[priority] = server.stream("/completion", body(5, priority, priority=priority) if priority >= 0 else body(5, 99, priority=priority))
        server.wait_until(lambda: server.requests()["n_waiting"] == len(waiting), "its place in the queue")
    for stream in [running, *waiting.values()]:
        stream.final()
    ends = {priority: stream.lines[-1].at for priority, stream in waiting.items()}
    assert sorted(ends, key=ends.get) == [20, 5, 0, -5]


def test_the_priority_of_one_that_waits_can_be_changed(servers):
    server = servers.fake("-c", 512, "--parallel", 1, env=SLOW)
    running = server.stream("/completion", body(200, priority=90)).wait_tokens(1)
    first, second = [], []
    for seed, into in ((2, first), (3, second)):
        into.append(server.stream("/completion", body(5, seed)))
        server.wait_until(lambda n=seed - 1: server.requests()["n_waiting"] == n, "its place in the queue")
    second_id = server.requests()["data"][-1]["id"]
    reply = server.post(f"/requests/{second_id}/priority", {"priority": 7}).json()
    assert (reply["id"], reply["priority"]) == (second_id, 7)
    assert server.requests()["data"][-1]["priority"] == 7
    for stream in [running, *first, *second]:
        stream.final()
    assert second[0].lines[-1].at < first[0].lines[-1].at


def test_the_limit_of_what_may_be_asked(servers):
    server = servers.fake("--priority-max", 7)
    assert server.post("/completion", body(1, priority=7)).status == 200
    assert server.post("/completion", body(1, priority=-1000)).status == 200
    for path in ("/completion", "/v1/completions", "/v1/chat/completions"):
        reply = server.post(path, body(1, priority=8) | {"messages": [{"role": "user", "content": "x"}]})
        assert reply.status == 400 and "priority" in reply.error["message"]
