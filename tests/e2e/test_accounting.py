"""What the client and the counters say is as if nothing had been parked (P6.3), end to end: with parks in the prompt and
in the generation, by swap and by recompute, with and without a cached prefix. The exact times are tests/unit/engine's."""

import pytest

from harness import prompt_tokens

PRESETS = ["swap", "recompute"]
N_PREDICT = 120
N_CACHED = 300
# Prompts go in small steps, and each takes so long that a park falls into them.
KINDS = {
    "fake": {"n_prompt": 800, "flags": ["-b", 16, "-ub", 16], "env": {"KVALET_FAKE_TOKEN_US": "1000"}},
    "tiny": {"n_prompt": 1200, "flags": ["-b", 4, "-ub", 4], "env": {}},
}
TOTALS = ["prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total"]
SAME_CELLS = {"temperature": 0, "ignore_eos": True, "id_slot": 0}


@pytest.fixture(scope="module")
def server_of(module_servers):
    """A server of each kind and preset, made when first asked for."""
    made = {}

    def get(kind, preset):
        if (kind, preset) not in made:
            flags = ["-c", 4096, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", preset, *KINDS[kind]["flags"]]
            start = module_servers.fake if kind == "fake" else module_servers.tiny
            made[kind, preset] = start(*flags, env=KINDS[kind]["env"])
        return made[kind, preset]

    return get


def prompt_of(kind):
    return prompt_tokens(KINDS[kind]["n_prompt"], fake=kind == "fake")


def asked(route, kind, cached):
    common = SAME_CELLS | {"cache_prompt": cached, "n_predict": N_PREDICT}
    if route == "/completion":
        return common | {"prompt": prompt_of(kind)}
    messages = [{"role": "user", "content": "word " * (KINDS[kind]["n_prompt"] // (5 if kind == "fake" else 2))}]
    return common | {"messages": messages, "stream_options": {"include_usage": True}}


def fill_the_cache(server, route, kind):
    """Leaves nothing of an earlier run in the slot but the first tokens of the prompt."""
    first = {"prompt": prompt_of(kind)[:N_CACHED]} if route == "/completion" else {"messages": [{"role": "user", "content": "word " * 100}]}
    server.ok(route, SAME_CELLS | first | {"cache_prompt": False, "n_predict": 1})


def park_and_unpark(server, stream):
    """Until it is really back: an unpark only makes it a candidate."""
    path = f"/requests/{stream.headers['x-request-id']}"
    parks = stream.comment_words().count("preempted")
    reply = server.post(f"{path}/park")
    assert reply.status == 200, reply
    stream.wait_comment("preempted", parks + 1)
    assert server.post(f"{path}/unpark").status == 200
    stream.wait_comment("resumed", parks + 1)


def in_its_prompt(server, stream, least):
    """Waits until more tokens of its prompt than that are done."""
    request_id = stream.wait_headers().headers["x-request-id"]

    def done():
        assert stream.n_tokens() == 0, "its prompt was over before the test could park it"
        return next((r["n_prompt_processed"] for r in server.requests()["data"] if r["id"] == request_id), 0)

    server.wait_until(lambda: done() > least, "its prompt under way")


def account(stream):
    """All that is counted in the final event and, of OpenAI's dialect, in usage."""
    final = stream.final()
    counts = {k: v for k, v in final.get("timings", {}).items() if k.endswith("_n")}
    counts |= {k: v for k, v in final.items() if k in ("tokens_evaluated", "tokens_predicted", "tokens_cached", "truncated", "usage")}
    return counts


def run(server, route, kind, cached, parked):
    """The account, what the counters grew by, the text, and the final event."""
    if cached:
        fill_the_cache(server, route, kind)
    before = server.metrics()
    stream = server.stream(route, asked(route, kind, cached)).wait_headers()
    if parked:
        for least in (50, 200):
            in_its_prompt(server, stream, least)
            park_and_unpark(server, stream)
        assert stream.n_tokens() == 0, "both parks fell into the prompt"
        for n in (1, N_PREDICT // 4):
            stream.wait_tokens(n)
            park_and_unpark(server, stream)
    counts = account(stream)
    after = server.metrics()
    grown = {name: after[name] - before[name] for name in TOTALS}
    seconds = after["prompt_seconds_total"] - before["prompt_seconds_total"]
    return {"counts": counts, "grown": grown, "text": stream.text(), "prompt_s": seconds, "ms": stream.final()["timings"]["prompt_ms"]}


@pytest.mark.parametrize("cached", [False, True], ids=["whole", "cached"])
@pytest.mark.parametrize("route", ["/completion", "/v1/chat/completions"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", [pytest.param("fake", marks=pytest.mark.fake), "tiny"])
def test_parks_leave_no_trace_in_the_counts(server_of, kind, preset, route, cached):
    server = server_of(kind, preset)
    before = server.metrics()
    plain = run(server, route, kind, cached, parked=False)
    parked = run(server, route, kind, cached, parked=True)
    assert parked["counts"] == plain["counts"]
    assert parked["grown"] == plain["grown"]
    counts = parked["counts"]
    n_prompt = counts["tokens_evaluated"] if route == "/completion" else counts["usage"]["prompt_tokens"]
    assert counts["prompt_n"] + counts["cache_n"] == n_prompt
    assert (counts["cache_n"] > 0) == cached
    assert counts["predicted_n"] == N_PREDICT
    assert parked["grown"]["prompt_tokens_total"] == counts["prompt_n"]
    assert parked["grown"]["prompt_tokens_cached_total"] == counts["cache_n"]
    for one in (plain, parked):
        assert one["prompt_s"] == pytest.approx(one["ms"] / 1000, abs=1e-3)
    if preset == "swap" or kind == "fake":
        assert parked["text"] == plain["text"]
    after = server.metrics()
    grown = {name: after[name] - before[name] for name in ("n_preempt_total", "n_preempt_swap_total", "n_recompute_tokens_total")}
    assert grown["n_preempt_total"] == 4
    assert grown["n_preempt_swap_total"] == (4 if preset == "swap" else 0)
    assert (grown["n_recompute_tokens_total"] > 0) == (preset == "recompute")


@pytest.mark.fake
@pytest.mark.parametrize("preset", PRESETS)
def test_the_time_of_a_prompt_is_without_what_a_park_took(servers, preset):
    """Not the time parked, nor that of the replay, which here is nearly as long as the prompt itself."""
    token_ms, n_prompt, n_done = 4, 600, 400
    flags = ["-c", 1024, "--parallel", 2, "--kv-unified", "--metrics", "-b", 16, "-ub", 16, "--preempt-preset", preset]
    server = servers.fake(*flags, env={"KVALET_FAKE_TOKEN_US": str(1000 * token_ms)})
    body = SAME_CELLS | {"prompt": prompt_tokens(n_prompt, fake=True), "n_predict": 5, "cache_prompt": False}
    plain = server.stream("/completion", body).final()["timings"]["prompt_ms"]
    stream = server.stream("/completion", body)
    in_its_prompt(server, stream, n_done)
    path = f"/requests/{stream.headers['x-request-id']}"
    assert server.post(f"{path}/park").status == 200
    stream.wait_comment("preempt-keepalive", 2)  # one each 2 s
    assert server.post(f"{path}/unpark").status == 200
    parked = stream.final()["timings"]["prompt_ms"]
    replay_ms = server.metrics()["n_recompute_tokens_total"] * token_ms
    print(f"prompt_ms {plain:.0f} without and {parked:.0f} with a park of 4 s or more and a replay of {replay_ms:.0f} ms")
    assert (replay_ms >= n_done * token_ms) == (preset == "recompute")
    assert parked >= n_prompt * token_ms, "each token was fed once, and took at least that"
    assert parked - plain < (replay_ms / 2 if preset == "recompute" else 2000)
