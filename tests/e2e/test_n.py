"""Several generations of one prompt (n, n_cmpl): shapes, seeds, the end of a client, and others beside them in a full pool."""

import openai
import pytest

from harness import prompt_tokens
from harness.sse import Stream

POOL = ["-c", 1024, "--parallel", 4, "--kv-unified", "--metrics"]
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
HOT = {"temperature": 1.5, "top_k": 0, "top_p": 1, "min_p": 0}
MESSAGES = [{"role": "user", "content": "Some words, please."}]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


# ---- on the fake model, whose generations of one prompt all say the same


@pytest.mark.fake
def test_native_is_an_array(servers):
    server = servers.fake(*POOL)
    alone = server.ok("/completion", body(30))
    before = server.metrics()
    replies = server.ok("/completion", body(30, n_cmpl=4) | {"seed": 11})
    assert [reply["index"] for reply in replies] == [0, 1, 2, 3]
    assert {reply["content"] for reply in replies} == {alone["content"]}
    assert {reply["prompt"] for reply in replies} == {alone["prompt"]}
    assert [reply["generation_settings"]["seed"] for reply in replies] == [11, 12, 13, 14]
    assert len({reply["id_slot"] for reply in replies}) == 4
    after = server.metrics()
    assert after["prompt_tokens_total"] - before["prompt_tokens_total"] == 60, "the prompt was computed once"
    assert after["tokens_predicted_total"] - before["tokens_predicted_total"] == 4 * 30


@pytest.mark.fake
def test_native_events_carry_the_index(servers):
    server = servers.fake(*POOL)
    alone = server.ok("/completion", body(30))
    stream = server.stream("/completion", body(30, n=3)).wait_end()
    assert stream.clean and "[DONE]" not in stream.data()
    for index in range(3):
        events = [event for event in stream.events() if event["index"] == index]
        assert "".join(event["content"] for event in events) == alone["content"]
        assert [event["stop"] for event in events].count(True) == 1 and events[-1]["stop"]
        assert events[-1]["tokens_predicted"] == 30


@pytest.mark.fake
@pytest.mark.parametrize("route", ["/completion", "/v1/completions", "/v1/chat/completions"])
def test_more_than_the_slots(servers, route):
    server = servers.fake(*POOL)
    for name in ("n", "n_cmpl"):
        for value in (0, -1, 5, 10**9, "2", 1.5):
            reply = server.post(route, body(5, messages=MESSAGES) | {name: value})
            assert reply.status == 400 and f"'{name}'" in reply.json()["error"]["message"], reply
    reply = server.post("/v1/completions", {"prompt": ["a"] * 65, "n": 4, "max_tokens": 1})
    assert reply.status == 400 and "256 generations" in reply.json()["error"]["message"]


@pytest.mark.fake
def test_several_prompts(servers):
    """One prompt after the other: 0 and 1 are the first one's, 2 and 3 the second one's."""
    server = servers.fake(*POOL)
    prompts = [prompt_tokens(20, seed, fake=True) for seed in (1, 2)]
    alone = [server.ok("/completion", body(9) | {"prompt": prompt})["content"] for prompt in prompts]
    merged = server.ok("/v1/completions", body(9, n=2) | {"prompt": prompts})
    assert [(c["index"], c["text"]) for c in merged["choices"]] == [(0, alone[0]), (1, alone[0]), (2, alone[1]), (3, alone[1])]


@pytest.mark.fake
@pytest.mark.parametrize("streamed", [True, False])
def test_all_go_with_their_client(servers, streamed):
    server = servers.fake(*POOL, env=SLOW)
    bystander = server.stream("/completion", body(300, 77)).wait_tokens(2)
    stream = Stream(server.port, "/completion", body(250, n=3, stream=streamed))
    server.wait_until(lambda: len(server.requests()["data"]) == 4, "all members")
    stream.abort()
    server.wait_until(lambda: len(server.requests()["data"]) <= 1, "their end")
    assert not bystander.ended, "it was noticed at once"
    assert bystander.final()["tokens_predicted"] == 300
    assert server.metrics()["requests_processing"] == 0
    assert len(server.ok("/completion", body(3, n=4))) == 4


@pytest.mark.fake
@pytest.mark.parametrize("preset", ["swap", "recompute", "default"])
def test_others_make_room(servers, preset):
    """A family is never parked; those beside it are, and say what they say alone (P2.2)."""
    server = servers.fake("-c", 512, "--parallel", 4, "--kv-unified", "--metrics", "--preempt-preset", preset, env=SLOW)
    alone = [server.ok("/completion", body(120, seed))["content"] for seed in (1, 9)]
    single = server.stream("/completion", body(120, 9)).wait_tokens(1)
    family = server.stream("/completion", body(120, n=3))
    assert single.final()["tokens_predicted"] == 120 and single.text() == alone[1]
    family.wait_end()
    for index in range(3):
        assert "".join(e["content"] for e in family.events() if e["index"] == index) == alone[0]
    assert "preempted" not in family.comment_words()
    assert server.metrics()["n_preempt_total"] > 0, "the pool was full"


# ---- on a model


@pytest.fixture(scope="module")
def server(module_servers):
    return module_servers.tiny("-c", 1024, "--parallel", 4, "--kv-unified", "--metrics", "-a", "tiny")


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", timeout=60, max_retries=0) as made:
        yield made


def test_seeds(server):
    """Child i has the seed + i. Only first tokens are compared: later ones may differ by the width of a batch."""
    fields = {"prompt": prompt_tokens(30), "n_predict": 1, "return_tokens": True, "cache_prompt": False, "ignore_eos": True} | HOT
    for seed in (5, 50, 500):
        together = server.ok("/completion", fields | {"n": 3, "seed": seed})
        alone = [server.ok("/completion", fields | {"seed": seed + i}) for i in range(3)]
        assert [reply["tokens"] for reply in together] == [reply["tokens"] for reply in alone]
    drawn = [tuple(r["tokens"]) for _ in range(4) for r in server.ok("/completion", fields | {"n": 4})]
    assert len(set(drawn)) > 4, "without a seed each draws its own"


def test_greedy_ones_agree(server):
    replies = server.ok("/completion", {"prompt": prompt_tokens(30), "n_predict": 8, "temperature": 0, "n": 3, "return_tokens": True, "ignore_eos": True})
    assert replies[0]["tokens"] == replies[1]["tokens"] == replies[2]["tokens"]


def test_openai_chat(client):
    reply = client.chat.completions.create(model="any", messages=MESSAGES, n=3, seed=1, max_tokens=20, extra_body={"ignore_eos": True} | HOT)
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in reply.choices}) == 3
    assert {choice.message.role for choice in reply.choices} == {"assistant"}
    assert {choice.finish_reason for choice in reply.choices} == {"length"}
    assert reply.usage.completion_tokens == 20, "the first one's, as on llama-server"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 20


def test_openai_chat_stream(client):
    chunks = list(client.chat.completions.create(model="any", messages=MESSAGES, n=3, seed=1, max_tokens=20, stream=True, extra_body={"ignore_eos": True} | HOT))
    texts = {}
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
    assert sorted(texts) == [0, 1, 2] and len(set(texts.values())) == 3
    for index in range(3):
        mine = [chunk.choices[0] for chunk in chunks if chunk.choices and chunk.choices[0].index == index]
        assert mine[0].delta.role == "assistant"
        assert [choice.finish_reason for choice in mine if choice.finish_reason] == ["length"]
    assert len({chunk.id for chunk in chunks}) == 1


def test_openai_completions(client):
    reply = client.completions.create(model="any", prompt="Some words", n=3, seed=1, max_tokens=20, extra_body={"ignore_eos": True} | HOT)
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert len({choice.text for choice in reply.choices}) == 3
