"""What the request asks for is what it gets, with a real vocabulary and samplers (llama-server-api 1.5, 1.6, 3.5)."""

import math

import pytest

from harness import prompt_tokens

EOS = 2  # <|im_end|>
BASE = {"prompt": prompt_tokens(30), "n_predict": 30, "temperature": 0, "cache_prompt": False, "id_slot": 0, "ignore_eos": True}


@pytest.fixture(scope="module")
def server(module_servers):
    return module_servers.tiny("-c", 1024, "--parallel", 2, "--kv-unified")


def ask(server, **fields):
    return server.ok("/completion", BASE | {"return_tokens": True} | fields)


def test_seeds(server):
    hot = {"temperature": 1.5, "top_k": 0, "top_p": 1}
    assert ask(server, seed=5, **hot)["tokens"] == ask(server, seed=5, **hot)["tokens"]
    assert ask(server, seed=5, **hot)["tokens"] != ask(server, seed=6, **hot)["tokens"]
    assert ask(server, **hot)["tokens"] != ask(server, **hot)["tokens"]  # another seed each time
    assert ask(server, seed=5)["tokens"] == ask(server, seed=6)["tokens"]  # greedy asks no seed


def test_top_k_one_is_greedy(server):
    assert ask(server, temperature=1, top_k=1, seed=3)["tokens"] == ask(server)["tokens"]


def test_a_stop_word(server):
    text = ask(server)["content"]
    word = text[len(text) // 2 :][:6]
    reply = ask(server, stop=[word, "never"])
    assert reply["content"] == text[: text.index(word)]
    assert (reply["stop_type"], reply["stopping_word"], reply["truncated"]) == ("word", word, False)
    stream = server.stream("/completion", BASE | {"stop": [word]})
    assert stream.final()["stop_type"] == "word"
    assert stream.text() == reply["content"]  # nothing of the word was sent before it was whole
    usage = server.ok("/v1/completions", BASE | {"stop": word})
    assert usage["choices"][0]["finish_reason"] == "stop"


def test_the_end_of_generation(server):
    reply = ask(server, logit_bias=[[EOS, 1000]], ignore_eos=False)
    assert (reply["stop_type"], reply["content"], reply["tokens_predicted"]) == ("eos", "", 1)
    assert ask(server, logit_bias=[[EOS, 1000]])["stop_type"] == "limit"  # ignore_eos


def test_bans(server):
    tokens = ask(server)["tokens"]
    banned = tokens[0]
    for bias in ([[banned, False]], {str(banned): False}, [[banned, -1000]]):
        assert banned not in ask(server, logit_bias=bias)["tokens"]


def test_a_bias_decides(server):
    assert set(ask(server, logit_bias=[[1234, 1000]])["tokens"]) == {1234}


def test_n_predict(server):
    for n, expected in ((1, 1), (0, 1), (7, 7)):
        reply = ask(server, n_predict=n)
        assert (reply["tokens_predicted"], reply["stop_type"]) == (expected, "limit")


def test_probabilities(server):
    reply = ask(server, n_probs=5, n_predict=8)
    assert [item["id"] for item in reply["completion_probabilities"]] == reply["tokens"]
    for item in reply["completion_probabilities"]:
        top = item["top_logprobs"]
        assert len(top) == 5 and item["id"] == top[0]["id"] and item["logprob"] == top[0]["logprob"]
        assert [t["logprob"] for t in top] == sorted((t["logprob"] for t in top), reverse=True)
        assert 0 < sum(math.exp(t["logprob"]) for t in top) <= 1.0001
    reply = ask(server, n_probs=5, n_predict=8, post_sampling_probs=True, temperature=1, top_k=3, seed=1)
    for item in reply["completion_probabilities"]:
        assert sum(t["prob"] for t in item["top_probs"]) == pytest.approx(1, abs=1e-3)
        assert 1 <= len(item["top_probs"]) <= 3


def test_a_grammar(server):
    reply = ask(server, grammar='root ::= "yes" | "no"', ignore_eos=False, n_predict=50)
    assert reply["content"] in ("yes", "no")
    assert reply["stop_type"] == "eos"


def test_penalties(server):
    free = ask(server, n_predict=200)["tokens"]
    bound = ask(server, n_predict=200, repeat_penalty=1e6, repeat_last_n=1024)["tokens"]
    assert len(set(bound)) == 200 > len(set(free))


def test_samplers_in_order(server):
    reply = ask(server, samplers=["top_k", "temperature"], top_k=1, temperature=5, seed=1)
    assert reply["generation_settings"]["samplers"] == ["top_k", "temperature"]
    assert reply["tokens"] == ask(server)["tokens"]


def test_a_time_limit(server):
    """t_max_predict_ms looks at lines: after one there is an end."""
    newline = server.ok("/tokenize", {"content": "\n"})["tokens"]
    reply = ask(server, n_predict=-1, t_max_predict_ms=1, logit_bias=[[newline[0], 1000]])
    assert reply["stop_type"] == "limit" and reply["has_new_line"] is True
    assert reply["tokens_predicted"] < 900


def test_several_prompts(server):
    prompts = [prompt_tokens(20, seed) for seed in (1, 2, 3)]
    together = ask(server, prompt=prompts, id_slot=-1, n_predict=5)
    assert [reply["index"] for reply in together] == [0, 1, 2]
    assert [reply["tokens_evaluated"] for reply in together] == [20] * 3
    merged = server.ok("/v1/completions", {"prompt": ["a b", "c d"], "max_tokens": 3, "ignore_eos": True})
    assert [choice["index"] for choice in merged["choices"]] == [0, 1]
    stream = server.stream("/completion", BASE | {"prompt": prompts, "id_slot": -1, "n_predict": 5}).wait_end()
    assert sorted(e["index"] for e in stream.events() if e["stop"]) == [0, 1, 2]


def test_text_and_ids_make_the_same_prompt(server):
    text = "Some words about rivers."
    tokens = server.ok("/tokenize", {"content": text})["tokens"]
    assert ask(server, prompt=text)["tokens"] == ask(server, prompt=tokens)["tokens"]
    assert ask(server, prompt=[text[:10], *server.ok("/tokenize", {"content": text[10:]})["tokens"]])["tokens_evaluated"] >= len(tokens)
    assert server.ok("/detokenize", {"tokens": tokens})["content"] == text


def test_a_chat_is_its_template(server):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    prompt = server.ok("/apply-template", {"messages": messages})["prompt"]
    assert prompt == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    chat = server.ok("/v1/chat/completions", {"messages": messages, "max_tokens": 20} | {k: v for k, v in BASE.items() if k != "n_predict"})
    plain = ask(server, prompt=prompt, n_predict=20)
    assert chat["choices"][0]["message"]["content"] == plain["content"]
    assert chat["usage"]["prompt_tokens"] == plain["tokens_evaluated"]


def test_response_fields(server):
    reply = ask(server, response_fields=["content", "timings/predicted_n", "generation_settings/top_k", "absent"])
    assert list(reply) == ["content", "timings/predicted_n", "generation_settings/top_k"]
    assert reply["timings/predicted_n"] == 30


def test_progress(server):
    fields = BASE | {"prompt": prompt_tokens(600), "return_progress": True, "n_predict": 2}
    events = [e["prompt_progress"] for e in server.stream("/completion", fields).wait_end().events() if "prompt_progress" in e]
    assert events[0]["processed"] == 0 and events[-1]["processed"] == 600
    assert {e["total"] for e in events} == {600} and {e["cache"] for e in events} == {0}
    assert [e["processed"] for e in events] == sorted(e["processed"] for e in events)


def test_timings_add_up(server):
    timings = ask(server)["timings"]
    assert (timings["prompt_n"], timings["cache_n"], timings["predicted_n"]) == (30, 0, 30)
    assert timings["prompt_ms"] > 0 and timings["predicted_ms"] > 0
    assert timings["prompt_per_second"] == pytest.approx(30 / timings["prompt_ms"] * 1000)
    assert timings["predicted_per_second"] == pytest.approx(29 / timings["predicted_ms"] * 1000)
