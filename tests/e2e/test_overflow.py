"""Chats that do not fit in the pool together all finish (F1, F2, F4, F5, F15, F18)."""

import pytest

from harness import prompt_tokens

PRESETS = ["swap", "recompute", "hybrid", "watermark", "priority", "default"]
# A step takes so long that all are there before the first is done.
SLOW = {"KVALET_FAKE_DECODE_US": "500"}
GREEDY = {"temperature": 0, "ignore_eos": True, "cache_prompt": False}


def bodies(n, n_prompt, n_predict, fake=False):
    return [
        GREEDY | {"prompt": prompt_tokens(n_prompt, seed, fake), "n_predict": n_predict} for seed in range(1, n + 1)
    ]


def assert_all_whole(streams, n_prompt, n_predict):
    for stream in streams:
        final = stream.final()
        assert 0 < len(stream.tokens()) <= n_predict  # a token that ends within a character has no event of its own
        assert final["tokens_predicted"] == n_predict
        assert final["tokens_evaluated"] == n_prompt
        assert final["stop_type"] == "limit" and final["truncated"] is False
        assert final["timings"]["prompt_n"] + final["timings"]["cache_n"] == n_prompt  # P6.3


def assert_nothing_left(metrics, preset="default"):
    assert metrics["n_preempt_total"] > 0
    assert metrics["n_preempt_total"] == metrics["n_resume_total"]
    assert metrics["n_preempt_swap_total"] + metrics["n_preempt_recompute_total"] == metrics["n_preempt_total"]
    if preset == "swap":
        assert metrics["n_preempt_recompute_total"] == 0
    if preset == "recompute":
        assert metrics["n_preempt_swap_total"] == 0 and metrics["preempt_ram_bytes_max"] == 0
    assert metrics["preempt_ram_bytes"] == 0
    assert metrics["requests_preempted"] == 0
    assert metrics["requests_processing"] == 0
    assert metrics["n_kv_full_total"] == 0  # F2: the ledger is right, nobody ran into the wall


@pytest.mark.parametrize("pool", [2048, 3072])
@pytest.mark.parametrize("preset", PRESETS)
def test_four_chats_on_a_tiny_model(servers, preset, pool):
    server = servers.tiny("-c", pool, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset)
    for _ in range(3):
        streams = server.streams("/completion", bodies(4, 300, 700))
        assert_all_whole(streams, 300, 700)
    assert_nothing_left(server.metrics(), preset)


@pytest.mark.fake
@pytest.mark.parametrize("preset", PRESETS)
def test_each_text_is_that_of_a_run_alone(servers, preset):
    """F1, F10: 4 x (64 + 300) in a pool of 512. The fake model's next token is a function of every cell before it."""
    flags = ["-c", 512, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset]
    server = servers.fake(*flags, env=SLOW)
    wanted = bodies(4, 64, 300, fake=True)
    alone = [server.ok("/completion", body | {"return_tokens": True})["tokens"] for body in wanted]
    texts = [server.streams("/completion", [body])[0].text() for body in wanted]
    assert server.metrics()["n_preempt_total"] == 0
    together = server.streams("/completion", wanted)
    assert_all_whole(together, 64, 300)
    assert [stream.text() for stream in together] == texts
    replies = server.posts("/completion", [body | {"return_tokens": True} for body in wanted])
    assert [reply.json()["tokens"] for reply in replies] == alone
    assert_nothing_left(server.metrics(), preset)


def test_four_chats_on_the_default_model(servers):
    """The headline, as an automated test; with one thread, which on a busy machine is faster than two that wait for each
    other."""
    server = servers.model("-c", 2048, "--parallel", 4, "--kv-unified", "--metrics", "-t", 1)
    streams = server.streams("/completion", bodies(4, 300, 700))
    assert_all_whole(streams, 300, 700)
    assert_nothing_left(server.metrics())


def test_four_chats_as_chats(servers):
    server = servers.tiny("-c", 2048, "--parallel", 4, "--kv-unified", "--metrics")
    messages = [[{"role": "user", "content": f"{seed} " + "word " * 100}] for seed in range(4)]
    streams = server.streams(
        "/v1/chat/completions",
        [{"messages": m, "max_tokens": 700, "stream_options": {"include_usage": True}} | GREEDY for m in messages],
    )
    for stream in streams:
        final = stream.final()
        assert stream.finish_reason() == "length"
        assert final["usage"]["completion_tokens"] == 700
        assert final["usage"]["prompt_tokens"] > 100
    assert_nothing_left(server.metrics())


def test_without_parking_they_fail_as_on_llama_server(servers):
    """The old ladder: everybody in the pool gets the error (llama-server-api 3.10)."""
    server = servers.tiny("-c", 2048, "--parallel", 4, "--kv-unified", "--metrics", "--no-preempt")
    streams = server.streams("/completion", bodies(4, 300, 700))
    for stream in streams:
        assert stream.status == 200 and stream.clean
        assert stream.error() == {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}
    metrics = server.metrics()
    assert metrics["n_preempt_total"] == 0
    assert metrics["requests_processing"] == 0
    assert server.ok("/completion", bodies(1, 300, 10)[0])["tokens_predicted"] == 10  # and the server goes on


@pytest.mark.parametrize("preset", PRESETS)
def test_each_of_four_may_have_the_whole_pool(servers, preset):
    """P4.6: pool 1024, four that want 2,000 tokens each: every one ends at 1,023 in its slot."""
    server = servers.tiny("-c", 1024, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset)
    replies = server.posts("/completion", bodies(4, 100, 2000))
    for reply in replies:
        assert reply.status == 200, reply
        body = reply.json()
        assert body["stop_type"] == "limit"
        assert body["truncated"] is True
        assert body["tokens_cached"] == 1023
        assert body["tokens_predicted"] == 1023 - 100 + 1  # the last one is sampled from the last cell, and has none
    assert_nothing_left(server.metrics(), preset)


def test_one_alone_may_have_the_whole_pool(servers):
    """F15."""
    server = servers.tiny("-c", 512, "--parallel", 2, "--kv-unified", "--metrics")
    stream = server.stream("/completion", bodies(1, 50, 2000)[0]).wait_end()
    final = stream.final()
    assert final["stop_type"] == "limit" and final["truncated"] is True
    assert final["tokens_cached"] == 511
    assert server.metrics()["n_preempt_total"] == 0


@pytest.mark.fake
def test_a_prompt_that_cannot_fit_holds_up_nobody(servers):
    """F4: refused at once, with numbers, and the queue behind it moves."""
    server = servers.fake("-c", 256, "--parallel", 1, "--kv-unified")
    reply = server.post("/completion", {"prompt": prompt_tokens(256, fake=True), "n_predict": 5})
    assert reply.status == 400
    assert reply.error == {
        "code": 400,
        "message": "request (256 tokens) exceeds the available context size (256 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 256,
        "n_ctx": 256,
    }
    assert server.post("/completion", {"prompt": prompt_tokens(255, fake=True), "n_predict": 5}).status == 200


@pytest.mark.fake
@pytest.mark.parametrize("preset", PRESETS)
def test_a_large_one_is_not_parked_over_and_over(servers, preset):
    """F5: one that needs most of the pool among small ones comes back only with room for all of it."""
    server = servers.fake("-c", 512, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset, env=SLOW)
    large = GREEDY | {"prompt": prompt_tokens(400, 99, fake=True), "n_predict": 100}
    first = server.stream("/completion", large)
    small = [server.stream("/completion", body) for body in bodies(12, 40, 60, fake=True)]
    for stream in [first, *small]:
        stream.final()
    assert first.final()["tokens_predicted"] == 100
    parks = server.metrics()
    assert parks["preempt_parks_per_request_count"] == 13
    assert parks.label("preempt_parks_per_request_bucket", "le", "12") == 13, "somebody was parked more than 12 times"


def test_a_budget_between_two_parks(servers):
    """F11: what does not fit in the budget is computed again; nobody fails, and the budget is never exceeded (P3.5)."""
    flags = ["-c", 1536, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", "hybrid", "--preempt-ram", 1]
    server = servers.tiny(*flags, "-ctk", "f32", "-ctv", "f32")
    streams = [server.stream("/completion", body) for body in bodies(4, 350, 600)]
    held = 0
    while not all(stream.ended for stream in streams):
        held = max(held, server.metrics()["preempt_ram_bytes"])
    assert_all_whole(streams, 350, 600)
    metrics = server.metrics()
    assert_nothing_left(metrics)
    assert metrics["n_preempt_swap_total"] > 0 and metrics["n_preempt_recompute_total"] > 0
    assert metrics["n_recompute_tokens_total"] > 0
    assert held <= metrics["preempt_ram_bytes_max"] <= 2**20


@pytest.mark.fake
@pytest.mark.parametrize("preset", PRESETS)
def test_many_of_all_sizes(servers, preset):
    """F2, F18: a mixed crowd under pressure: every stream ends as it would have alone."""
    flags = ["-c", 384, "--parallel", 5, "--kv-unified", "--metrics", "--preempt-preset", preset]
    server = servers.fake(*flags, env=SLOW)
    sizes = [(20 + 37 * i % 200, 10 + 53 * i % 150) for i in range(30)]
    wanted = [GREEDY | {"prompt": prompt_tokens(n, i, fake=True), "n_predict": m} for i, (n, m) in enumerate(sizes)]
    alone = [server.stream("/completion", body).wait_end() for body in wanted]
    together = server.streams("/completion", wanted)
    for (n_prompt, n_predict), mine, ours in zip(sizes, alone, together):
        assert ours.final()["tokens_predicted"] == mine.final()["tokens_predicted"] == n_predict
        assert ours.text() == mine.text()
        assert ours.final()["timings"]["prompt_n"] == n_prompt
    assert_nothing_left(server.metrics(), preset)
