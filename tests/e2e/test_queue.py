"""More requests than slots: the queue, its limit, and that it moves (llama-server-api 3.1, 3.7; F4, F6, F28)."""

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True} | more


def test_twenty_for_two_slots(servers):
    server = servers.fake("-c", 512, "--parallel", 2, "--kv-unified", "--metrics")
    streams = server.streams("/completion", [body(30, seed) for seed in range(20)])
    assert [stream.final()["tokens_predicted"] for stream in streams] == [30] * 20
    assert server.metrics()["n_preempt_total"] == 0


def test_in_the_order_of_arrival(servers):
    server = servers.fake("-c", 512, "--parallel", 1, env=SLOW)
    streams = []
    for seed in range(5):
        streams.append(server.stream("/completion", body(20, seed)))
        server.wait_until(lambda: len(server.requests()["data"]) == len(streams) or streams[0].ended, "its arrival")
    for stream in streams:
        stream.final()
    ends = [stream.lines[-1].at for stream in streams]
    assert ends == sorted(ends)


def test_above_the_limit_429(servers):
    server = servers.fake("-c", 512, "--parallel", 1, "--queue-max", 2, "--metrics", env=SLOW)
    running = server.stream("/completion", body(300)).wait_tokens(1)
    waiting = [server.stream("/completion", body(10, seed)) for seed in (2, 3)]
    server.wait_until(lambda: server.requests()["n_waiting"] == 2, "a full queue")
    for path, more in (("/completion", {}), ("/completion", {"stream": True}), ("/v1/completions", {})):
        reply = server.post(path, body(10) | more)
        assert reply.status == 429
        assert int(reply.headers["retry-after"]) >= 1
        assert "--queue-max" in reply.error["message"]
    assert server.metrics()["requests_deferred"] == 2
    for stream in [running, *waiting]:
        stream.final()
    assert server.ok("/completion", body(5))["tokens_predicted"] == 5


def test_a_queue_of_nothing_still_serves_its_slots(servers):
    server = servers.fake("-c", 512, "--parallel", 2, "--queue-max", 0, env=SLOW)
    streams = [server.stream("/completion", body(200, seed)).wait_tokens(1) for seed in (1, 2)]
    assert server.post("/completion", body(1)).status == 429
    for stream in streams:
        stream.final()


def test_a_full_pool_is_never_429(servers):
    """Overload answers 429 only when a named limit is hit, never because the pool is full."""
    server = servers.fake("-c", 256, "--parallel", 4, "--kv-unified", "--queue-max", 100, "--metrics", env=SLOW)
    streams = server.streams("/completion", [body(150, seed) for seed in range(12)])
    assert [stream.final()["tokens_predicted"] for stream in streams] == [150] * 12
    assert server.metrics()["n_preempt_total"] > 0


def test_a_fixed_slot(servers):
    server = servers.fake("-c", 512, "--parallel", 3, "--kv-unified", env=SLOW)
    first = server.stream("/completion", body(100, id_slot=2)).wait_tokens(1)
    second = server.stream("/completion", body(10, 2, id_slot=2))  # waits for that slot although others are free
    third = server.ok("/completion", body(5, 3))
    assert third["id_slot"] != 2 and not first.ended
    assert first.final()["id_slot"] == second.final()["id_slot"] == 2
    assert server.ok("/completion", body(5, 4, id_slot=3))["id_slot"] == 0  # wraps


@pytest.mark.parametrize("keeps", ["--no-cache-idle-slots", "--cache-idle-slots"])
def test_the_slot_with_the_common_prefix_is_taken(servers, keeps):
    """Or any other, where the caches of all went to host memory."""
    server = servers.fake("-c", 1024, "--parallel", 3, "--kv-unified", keeps)
    firsts = [server.ok("/completion", body(10, seed, return_tokens=True)) for seed in (1, 2, 3)]
    assert len({first["id_slot"] for first in firsts}) == 3
    for seed, first in ((2, firsts[1]), (1, firsts[0]), (3, firsts[2])):
        longer = prompt_tokens(60, seed, fake=True) + first["tokens"] + [33, 34]
        again = server.ok("/completion", {"prompt": longer, "n_predict": 2})
        if keeps == "--no-cache-idle-slots":
            assert again["id_slot"] == first["id_slot"]
        assert again["timings"]["cache_n"] == first["tokens_cached"]
        assert again["timings"]["cache_n"] + again["timings"]["prompt_n"] == len(longer)


def test_without_a_common_prefix_the_least_recently_used(servers):
    server = servers.fake("-c", 1024, "--parallel", 3, "--kv-unified")
    order = [server.ok("/completion", body(3, seed))["id_slot"] for seed in range(6)]
    assert order[:3] == order[3:] and len(set(order[:3])) == 3


def test_cache_prompt_off(servers):
    server = servers.fake("-c", 512, "--parallel", 1)
    server.ok("/completion", body(5))
    assert server.ok("/completion", body(5))["timings"]["cache_n"] == 59
    assert server.ok("/completion", body(5, cache_prompt=False))["timings"]["cache_n"] == 0
    other = servers.fake("-c", 512, "--parallel", 1, "--no-cache-prompt")
    other.ok("/completion", body(5))
    assert other.ok("/completion", body(5))["timings"]["cache_n"] == 0


def test_idle_slots_give_way_before_anybody_is_parked(servers):
    """P1.3: prompt caches are emptied first."""
    server = servers.fake("-c", 512, "--parallel", 4, "--kv-unified", "--metrics", "--no-cache-idle-slots")
    for seed in range(3):
        server.ok("/completion", body(60, seed))
    assert server.metrics()["kv_cache_tokens"] == 3 * 119
    assert server.ok("/completion", {"prompt": prompt_tokens(400, 9, fake=True), "n_predict": 100, "ignore_eos": True})["tokens_predicted"] == 100
    assert server.metrics()["n_preempt_total"] == 0


def test_a_newcomer_does_not_overtake_the_parked(servers):
    """F6, F28: order fair: who was parked first is back before an equal that came later has had its turn."""
    server = servers.fake("-c", 256, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-resume", "fair", env=SLOW)
    first = [server.stream("/completion", body(120, seed)).wait_tokens(1) for seed in (1, 2)]
    server.wait_until(lambda: server.requests()["n_parked"] == 1, "a parked one")
    parked = next(stream for stream in first if "preempted" in stream.comment_words())
    late = [server.stream("/completion", body(120, seed)) for seed in (3, 4)]
    for stream in [*first, *late]:
        assert stream.final()["tokens_predicted"] == 120
    resumed_at = next(line.at for line in parked.lines if line.text.startswith(": resumed"))
    assert all(resumed_at < stream.token_times()[0] for stream in late)
