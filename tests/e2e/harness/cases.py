"""Requests that llama-server and Kvalet are both asked, to compare the shapes of their replies and what they say."""

import dataclasses

from harness.prompts import prompt_tokens

PROMPT = prompt_tokens(20)
# With a system message, because the model's template makes one up where there is none, and a built-in template does not.
MESSAGES = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "some words"}]
FLAGS = ["-c", "1024", "--parallel", "2", "--kv-unified", "--metrics", "-a", "tiny"]
N_CTX = 1024


@dataclasses.dataclass
class Case:
    name: str
    method: str
    path: str
    body: object = None  # bytes as they are, anything else as JSON
    headers: dict | None = None


def completions() -> list[Case]:
    base = {"prompt": PROMPT, "n_predict": 6, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    variants = {
        "slot 0": {"id_slot": 0},
        "slot 1": {"id_slot": 1},
        "stream": {"stream": True},
        "ids": {"return_tokens": True},
        "probs": {"n_probs": 3},
        "post-probs": {"n_probs": 3, "post_sampling_probs": True},
        "probs-stream": {"n_probs": 2, "stream": True},
        "timings-stream": {"timings_per_token": True, "stream": True},
        "progress-stream": {"return_progress": True, "stream": True},
        "fields": {"response_fields": ["content", "timings/prompt_n", "generation_settings/top_k", "nothing"]},
        "two-prompts": {"prompt": [PROMPT, PROMPT[:9]]},
        "text-and-ids": {"prompt": ["some text", *PROMPT]},
        "settings": {
            "stop": ["zzz"], "logit_bias": [[17, False], [18, 1.5], ["word", -1]], "samplers": ["top_k", "temperature"],
            "seed": 7, "top_k": 3, "mirostat": 1, "dry_multiplier": 0.5, "n_keep": 3, "min_keep": 2, "t_max_predict_ms": 9000,
            "grammar": "root ::= [a-z ]+", "repeat_last_n": 5, "dynatemp_range": 0.1,
        },
        "clamped": {"temperature": -3, "top_p": 7, "min_p": -1},
        "zero": {"n_predict": 0},
    }  # fmt: skip
    return [Case(f"completion {name}", "POST", "/completion", base | extra) for name, extra in variants.items()]


def openai_completions() -> list[Case]:
    base = {"model": "any", "prompt": "some words", "max_tokens": 6, "temperature": 0, "ignore_eos": True}
    variants = {
        "plain": {},
        "stream": {"stream": True},
        "usage-stream": {"stream": True, "stream_options": {"include_usage": True}},
        "logprobs": {"logprobs": 2},
        "timings-stream": {"stream": True, "timings_per_token": True},
        "verbose": {"verbose": True},
        "two-prompts": {"prompt": ["some words", "others"]},
    }
    return [Case(f"v1/completions {name}", "POST", "/v1/completions", base | extra) for name, extra in variants.items()]


def chats() -> list[Case]:
    base = {"model": "any", "messages": MESSAGES, "max_tokens": 6, "temperature": 0, "ignore_eos": True}
    variants = {
        "plain": {},
        "stream": {"stream": True},
        "usage-stream": {"stream": True, "stream_options": {"include_usage": True}},
        "logprobs": {"logprobs": True, "top_logprobs": 2},
        "logprobs-stream": {"logprobs": True, "top_logprobs": 2, "stream": True},
        "progress-stream": {"return_progress": True, "stream": True},
        "timings-stream": {"timings_per_token": True, "stream": True},
        "verbose": {"verbose": True},
        "parts": {"messages": [MESSAGES[0], {"role": "user", "content": [{"type": "text", "text": "some"}, {"type": "text", "text": "words"}]}]},
        "without system": {"messages": MESSAGES[1:]},
        "prefill": {"messages": [*MESSAGES, {"role": "assistant", "content": "Well"}]},
        "text format": {"response_format": {"type": "text"}},
    }  # fmt: skip
    return [
        Case(f"chat {name}", "POST", "/v1/chat/completions", base | extra) for name, extra in variants.items()
    ]


def texts() -> list[Case]:
    chat = {"messages": MESSAGES}
    return [
        Case("tokenize", "POST", "/tokenize", {"content": "some words"}),
        Case("tokenize special", "POST", "/tokenize", {"content": "<|im_start|>x", "add_special": True}),
        Case("tokenize plain", "POST", "/tokenize", {"content": "<|im_start|>x", "parse_special": False}),
        Case("tokenize pieces", "POST", "/tokenize", {"content": "a \u00e9 \U0001f600", "with_pieces": True}),
        Case("tokenize nothing", "POST", "/tokenize", {}),
        Case("detokenize", "POST", "/detokenize", {"tokens": PROMPT}),
        Case("detokenize nothing", "POST", "/detokenize", {}),
        Case("apply-template", "POST", "/apply-template", chat),
        Case("input_tokens", "POST", "/v1/chat/completions/input_tokens", chat),
    ]


def infos() -> list[Case]:
    return [
        Case("slots", "GET", "/slots"),
        Case("health", "GET", "/health"),
        Case("v1/health", "GET", "/v1/health"),
        Case("models", "GET", "/models"),
        Case("v1/models", "GET", "/v1/models"),
        Case("props", "GET", "/props"),
        Case("props change", "POST", "/props", {}),
        Case("lora-adapters", "GET", "/lora-adapters"),
        Case("slots action", "POST", "/slots/0?action=erase", {}),
        Case("tools", "GET", "/tools"),
    ]


def errors() -> list[Case]:
    def completion(name, **fields):
        return Case(f"error {name}", "POST", "/completion", {"prompt": "x", "n_predict": 2} | fields)

    def chat(name, **fields):
        return Case(f"error chat {name}", "POST", "/v1/chat/completions", {"messages": MESSAGES, "max_tokens": 2} | fields)

    return [
        Case("error unknown route", "GET", "/nothing"),
        Case("error wrong method", "GET", "/completion"),
        Case("error malformed", "POST", "/completion", b'{"prompt": "x", '),
        Case("error empty body", "POST", "/completion", b""),
        Case("error array", "POST", "/completion", b"[]"),
        Case("error no prompt", "POST", "/completion", {"n_predict": 2}),
        completion("prompt of a wrong type", prompt=5),
        completion("empty prompt list", prompt=[]),
        completion("token out of range", prompt=[1 << 20]),
        completion("negative token", prompt=[-5]),
        completion("too long", prompt=prompt_tokens(N_CTX + 10)),
        completion("temperature", temperature="hot"),
        completion("n_predict", n_predict=-2),
        completion("n_predict word", n_predict="many"),
        completion("top_k word", top_k="x"),
        completion("seed word", seed="x"),
        completion("stream word", stream="yes"),
        completion("stop number", stop=5),
        completion("grammar", grammar="root ::= ("),
        completion("no root", grammar="x ::= \"a\""),
        completion("repeat_penalty", repeat_penalty=0),
        completion("repeat_last_n", repeat_last_n=-1),
        completion("mirostat", mirostat=3),
        completion("n_keep", n_keep=-2),
        completion("samplers", samplers=5),
        completion("logit_bias", logit_bias=5),
        completion("dry_sequence_breakers", dry_sequence_breakers=[]),
        completion("n", n_cmpl=3),
        completion("n zero", n_cmpl=0),
        chat("no messages", messages=None),
        chat("empty messages", messages=[]),
        chat("messages of a wrong type", messages="hello"),
        chat("a message of a wrong type", messages=["hello"]),
        chat("no role", messages=[{"content": "x"}]),
        chat("no content", messages=[{"role": "user"}]),
        chat("unknown role", messages=[{"role": "wizard", "content": "x"}]),
        chat("content number", messages=[{"role": "user", "content": 5}]),
        chat("part type", messages=[{"role": "user", "content": [{"type": "smell"}]}]),
        chat("two assistants", messages=[*MESSAGES, *[{"role": "assistant", "content": "a"}] * 2]),
        chat("top_logprobs alone", top_logprobs=3),
        chat("tool_choice", tool_choice="perhaps"),
        chat("too long", messages=[{"role": "user", "content": "word " * 2000}]),
        chat("max_tokens", max_tokens=-2),
        chat("response_format", response_format={"type": "poem"}),
        Case("error tokenize malformed", "POST", "/tokenize", b"{"),
        Case("error detokenize", "POST", "/detokenize", {"tokens": "x"}),
        Case("error apply-template", "POST", "/apply-template", {}),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    """In the order in which they are asked: /slots comes when each slot has had a request."""
    first, second, *rest = completions()
    return [first, second, *infos(), *rest, *openai_completions(), *chats(), *texts(), *errors()]
