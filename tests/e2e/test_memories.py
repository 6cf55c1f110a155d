"""Parks on each kind of memory that libllama has, end to end: sliding windows, recurrent states, and both with attention;
on tiny models, and on Gemma 3 270M where that was fetched."""

import pathlib

import pytest

from harness import binary, gemma_path, prompt_tokens

GREEDY = {"temperature": 0, "ignore_eos": True, "cache_prompt": False}
PRESETS = ["swap", "recompute", "hybrid", "default"]
gemma = pytest.mark.skipif(
    not pathlib.Path(gemma_path()).exists(), reason="Gemma 3 270M is not there: `make gemma-model` fetches it"
)


def body(n_prompt, n_predict, seed, **more):
    return GREEDY | {"prompt": prompt_tokens(n_prompt, seed), "n_predict": n_predict} | more


def assert_served(streams, n_prompt, n_predict):
    for stream in streams:
        final = stream.final()
        assert (final["tokens_evaluated"], final["tokens_predicted"]) == (n_prompt, n_predict)
        assert final["stop_type"] == "limit" and final["truncated"] is False
        assert final["timings"]["prompt_n"] == n_prompt


def assert_parked(server, preset):
    metrics = server.metrics()
    assert metrics["n_preempt_total"] == metrics["n_resume_total"] > 0
    assert (metrics["n_preempt_recompute_total"] > 0) == (preset == "recompute")
    assert (metrics["n_preempt_swap_total"] > 0) == (preset != "recompute")
    assert metrics["n_kv_full_total"] == metrics["n_restore_failed_total"] == 0
    assert metrics["preempt_ram_bytes"] == metrics["requests_preempted"] == 0


def overflow(server, n_prompt, n_predict):
    streams = server.streams("/completion", [body(n_prompt, n_predict, seed) for seed in range(1, 5)])
    assert_served(streams, n_prompt, n_predict)


def park_while_streaming(server, n_prompt, n_predict):
    """Alone on the server: the text is that of the run without, and the cells are free meanwhile."""
    wanted = body(n_prompt, n_predict, 1, id_slot=0)
    alone = server.stream("/completion", wanted).wait_end()
    stream = server.stream("/completion", wanted).wait_tokens(20)
    path = f"/requests/{stream.headers['x-request-id']}"
    assert server.post(f"{path}/park").json()["preempt_mode"] == "swap"
    stream.wait_comment("preempted")
    assert server.metrics()["kv_cache_tokens"] == 0
    assert server.post(f"{path}/unpark").status == 200
    assert_served([alone, stream], n_prompt, n_predict)
    assert stream.tokens() == alone.tokens()
    assert stream.text() == alone.text()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", ["tiny-swa", "tiny-hybrid"])
def test_four_chats_that_do_not_fit(servers, model, preset):
    server = servers.tiny("-c", 1024, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset, model=model)
    overflow(server, 150, 400)
    assert_parked(server, preset)


@pytest.mark.parametrize("preset", ["swap", "recompute", "default"])
def test_a_recurrent_memory_is_never_full_but_its_slots_are(servers, preset):
    """It keeps one state for each sequence, however long: whoever is more important takes a slot."""
    flags = ["-c", 4096, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", "default"]
    budget = {"swap": -1, "recompute": 0, "default": 8192}[preset]
    server = servers.tiny(*flags, "--preempt-ram", budget, model="tiny-mamba")
    running = [server.stream("/completion", body(60, 900, seed)).wait_tokens(1) for seed in (1, 2)]
    late = server.stream("/completion", body(60, 20, 3, priority=10))
    assert_served([late], 60, 20)
    assert_served(running, 60, 900)
    assert late.token_times()[0] < min(stream.lines[-1].at for stream in running)
    assert server.metrics().label("n_preempt_by_reason_total", "reason", "priority") == 1
    assert_parked(server, preset)


@pytest.mark.parametrize("model", ["tiny-swa", "tiny-mamba", "tiny-hybrid"])
def test_park_while_streaming(servers, model):
    """A window that is not kept whole is a ring: once it has gone round, its cells come back in another order, and f16
    sums may differ in their last bit (exactness.md)."""
    flags = ["-c", 4096, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", "swap", "--swa-full"]
    server = servers.tiny(*flags, model=model)
    park_while_streaming(server, 200, 800)
    assert_parked(server, "swap")


def gemma_server(servers, preset, pool):
    flags = ["-c", pool, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset, "-t", 1]
    return servers.start([binary(), "-m", gemma_path(), *flags])


@gemma
@pytest.mark.parametrize("preset", PRESETS)
def test_four_chats_that_do_not_fit_on_gemma(servers, preset):
    server = gemma_server(servers, preset, 512)
    overflow(server, 100, 150)
    assert_parked(server, preset)


@gemma
def test_park_while_streaming_on_gemma(servers):
    """Beyond its window of 512 tokens."""
    server = gemma_server(servers, "swap", 2048)
    park_while_streaming(server, 600, 60)
    assert_parked(server, "swap")
