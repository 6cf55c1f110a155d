"""--cache-ram and --cache-idle-slots: prompts of idle slots go to host memory and come back (llama-server-api 3.2)."""

import pytest

from harness import prompt_tokens

FLAGS = ["-c", 1024, "--parallel", 2, "--kv-unified", "--metrics"]
N_PROMPT, N_PREDICT = 80, 20


def body(seed, **more):
    fields = {"prompt": prompt_tokens(N_PROMPT, seed), "n_predict": N_PREDICT, "temperature": 0, "ignore_eos": True}
    return fields | {"return_tokens": True} | more


def turns(server, n_chats, n_rounds):
    """Chats that take turns, each with a longer prompt from turn to turn: their tokens, and what they found cached."""
    history = {seed: body(seed)["prompt"] for seed in range(n_chats)}
    tokens, cached = [], []
    for _ in range(n_rounds):
        for seed in history:
            reply = server.ok("/completion", body(seed, prompt=history[seed]))
            history[seed] = history[seed] + reply["tokens"] + prompt_tokens(5, seed + 50)
            tokens.append(reply["tokens"])
            cached.append(reply["timings"]["cache_n"])
    return tokens, cached


@pytest.mark.parametrize("model", ["tiny-llama", "tiny-swa", "tiny-mamba", "tiny-hybrid"])
def test_more_chats_than_slots_find_what_they_left(servers, model):
    tokens, cached = turns(servers.tiny(*FLAGS, model=model), 5, 3)
    assert cached[:5] == [0] * 5
    per_turn = N_PREDICT + 5
    # The last token of a turn was never computed; it is part of the next prompt.
    assert cached[5:10] == [N_PROMPT + N_PREDICT - 1] * 5
    assert cached[10:] == [N_PROMPT + N_PREDICT - 1 + per_turn] * 5
    without, nothing = turns(servers.tiny(*FLAGS, "--cache-ram", 0, model=model), 5, 3)
    assert nothing == [0] * 15
    assert len(tokens) == len(without) and all(len(t) == N_PREDICT for t in tokens)


def test_the_bytes_are_those_of_a_slot_that_kept_them(servers):
    """A chat that has a slot of its own against one whose cache went to host memory and came back each time."""
    away = servers.tiny(*FLAGS)
    home = servers.tiny(*FLAGS, "--cache-ram", 0)
    prompt = body(1)["prompt"]
    for turn in range(3):
        here = home.ok("/completion", body(1, prompt=prompt, id_slot=0))
        there = away.ok("/completion", body(1, prompt=prompt, id_slot=0))
        assert there["tokens"] == here["tokens"] and there["timings"]["cache_n"] == here["timings"]["cache_n"]
        away.ok("/completion", body(100 + turn, id_slot=1))
        assert away.slots()[0]["is_processing"] is False
        prompt = prompt + here["tokens"] + prompt_tokens(5, turn + 50)
    assert away.metrics()["n_cache_loaded_total"] >= 2


def test_idle_caches_leave_the_pool_when_another_begins(servers):
    server = servers.tiny(*FLAGS)
    server.ok("/completion", body(1, id_slot=0))
    assert server.metrics()["kv_cache_tokens"] == N_PROMPT + N_PREDICT - 1
    assert server.metrics()["cache_ram_bytes"] == 0
    server.ok("/completion", body(2, id_slot=1))
    metrics = server.metrics()
    assert metrics["kv_cache_tokens"] == N_PROMPT + N_PREDICT - 1, "only the second one's"
    assert metrics["n_cache_saved_total"] == 1 and metrics["cache_ram_bytes"] > 0
    assert metrics["preempt_ram_bytes"] == 0


def test_without_idle_slots_only_for_room(servers):
    server = servers.tiny(*FLAGS, "--no-cache-idle-slots")
    server.ok("/completion", body(1, id_slot=0))
    server.ok("/completion", body(2, id_slot=1))
    assert server.metrics()["kv_cache_tokens"] == 2 * (N_PROMPT + N_PREDICT - 1)
    assert server.metrics()["n_cache_saved_total"] == 0
    server.ok("/completion", body(3, id_slot=1, prompt=prompt_tokens(950, 3)))
    assert server.metrics()["n_cache_saved_total"] == 2
    assert server.ok("/completion", body(1, id_slot=0))["timings"]["cache_n"] == N_PROMPT - 1


def test_the_budget_is_a_limit(servers):
    server = servers.tiny("-c", 4096, "--parallel", 2, "--kv-unified", "--metrics", "--cache-ram", 1)
    held = []
    for seed in range(12):
        server.ok("/completion", body(seed, prompt=prompt_tokens(700, seed), n_predict=2))
        held.append(server.metrics()["cache_ram_bytes"])
    assert 0 < max(held) <= 2**20
    assert server.metrics()["n_cache_saved_total"] == 11


def test_a_request_that_wants_no_cache(servers):
    server = servers.tiny(*FLAGS)
    server.ok("/completion", body(1, id_slot=0))
    server.ok("/completion", body(2, id_slot=1))
    assert server.ok("/completion", body(1, id_slot=0, cache_prompt=False))["timings"]["cache_n"] == 0
