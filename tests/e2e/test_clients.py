"""Streaming clients of other people, against a server that parks every third token: each gets exactly the text of a server
that parks nobody. The official Python client is in test_openai.py."""

import asyncio
import contextlib
import functools
import json
import pathlib
import shutil
import subprocess

import httpx
import pytest
import requests
from langchain_openai import ChatOpenAI

from harness import deps_path

CLIENTS = pathlib.Path(__file__).parent / "clients"
NODE = deps_path("node")
NOTICES = ["comments", "data", "off"]
MESSAGES = [{"role": "user", "content": "Some words, please."}]
N_TOKENS = 40
# All want slot 0 with nothing in it: requests that come together are served one after the other, so that the text of each
# is that of a request alone.
EXTRA = {"ignore_eos": True, "cache_prompt": False, "id_slot": 0}
FIELDS = {"model": "any", "max_tokens": N_TOKENS, "temperature": 0, "seed": 1} | EXTRA
# One thread: a model this small gains nothing by two, which on a busy machine wait for each other.
POOL = ["-c", 512, "--parallel", 2, "--kv-unified", "--threads", 1]
TIMEOUT_S = 120

each_notices = pytest.mark.parametrize("notices", NOTICES)


def native(**more):
    return {"prompt": "Some words", "n_predict": N_TOKENS, "temperature": 0, "seed": 1} | EXTRA | more


@pytest.fixture(scope="module")
def server(module_servers):
    return module_servers.tiny(*POOL, "--metrics", "--preempt-preset", "swap", env={"LLAMA_SERVER_PREEMPT_EVERY": "3"})


@pytest.fixture(scope="module")
def expected(module_servers):
    """What a server that parks nobody says."""
    plain = module_servers.tiny(*POOL)
    said = {
        "chat": plain.ok("/v1/chat/completions", FIELDS | {"messages": MESSAGES})["choices"][0]["message"]["content"],
        "text": plain.ok("/v1/completions", FIELDS | {"prompt": "Some words"})["choices"][0]["text"],
        "native": plain.ok("/completion", native())["content"],
    }
    assert all(len(text) > N_TOKENS for text in said.values())
    return said


@pytest.fixture
def parks(server):
    """The server, in a test at whose end somebody must have been parked every third token."""
    before = server.metrics()["n_preempt_total"]
    yield server
    assert server.metrics()["n_preempt_total"] - before >= N_TOKENS // 3


def url(server, path):
    return f"http://127.0.0.1:{server.port}{path}"


# ---- Node.js


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory):
    """The scripts beside their packages: where `import` looks for them."""
    folder = tmp_path_factory.mktemp("node") / "clients"
    shutil.copytree(CLIENTS, folder)
    (folder / "node_modules").symlink_to(pathlib.Path(deps_path("clients")) / "node_modules")
    return folder


@contextlib.contextmanager
def node_process(folder, script, task):
    command = [NODE, folder / script, json.dumps(task)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run_node(folder, script, task):
    with node_process(folder, script, task) as process:
        output, errors = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, errors
        return json.loads(output)


@pytest.fixture
def openai_node(server, node_folder):
    def run(task, body, n=None):
        return run_node(node_folder, "openai.mjs", {"task": task, "base_url": url(server, "/v1"), "body": FIELDS | body, "n": n})

    return run


def check_openai(got, text):
    assert got["text"] == text
    assert got["finish_reasons"] == ["length"]
    assert len(got["ids"]) == 1
    assert got["usage"]["completion_tokens"] == N_TOKENS


@each_notices
def test_openai_node_chat(parks, expected, openai_node, notices):
    check_openai(openai_node("chat", {"messages": MESSAGES, "sse_notices": notices}), expected["chat"])


@each_notices
def test_openai_node_completions(parks, expected, openai_node, notices):
    check_openai(openai_node("text", {"prompt": "Some words", "sse_notices": notices}), expected["text"])


@each_notices
def test_openai_node_several_at_once(parks, expected, openai_node, notices):
    several = openai_node("several", {"messages": MESSAGES, "sse_notices": notices}, n=4)
    assert len(several) == 4
    for got in several:
        check_openai(got, expected["chat"])


def test_openai_node_abort_in_the_middle(servers, node_folder):
    """On a generation that would outlast the test by far, so that nothing but the abort can have ended it."""
    env = {"LLAMA_SERVER_PREEMPT_EVERY": "3", "KVALET_FAKE_DECODE_US": "5000"}
    slow = servers.fake("-c", 262144, "--parallel", 2, "--kv-unified", "--metrics", env=env)
    body = {"model": "any", "messages": MESSAGES, "max_tokens": 200000, "ignore_eos": True}
    with node_process(node_folder, "openai.mjs", {"task": "abort", "base_url": url(slow, "/v1"), "body": body, "n": 12}) as process:
        got = json.loads(process.stdout.readline())
        assert got["chunks"] >= 12 and got["finish_reasons"] == []
        slow.wait_until(lambda: not any(slot["is_processing"] for slot in slow.slots()), "free slots")
        assert slow.requests()["data"] == []
        assert slow.metrics()["preempt_ram_bytes"] == 0
        assert process.poll() is None, "the client itself is still there"
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0


@each_notices
def test_eventsource_completion(parks, expected, node_folder, notices):
    got = run_node(node_folder, "eventsource.mjs", {"url": url(parks, "/completion"), "body": native(sse_notices=notices)})
    events = [json.loads(data) for data in got["data"]]
    assert "".join(event["content"] for event in events) == expected["native"]
    assert events[-1]["stop"] is True and events[-1]["tokens_predicted"] == N_TOKENS
    assert got["opened"] == 1 and got["content_type"] == "text/event-stream"


@each_notices
def test_eventsource_chat(parks, expected, node_folder, notices):
    body = FIELDS | {"messages": MESSAGES, "sse_notices": notices}
    got = run_node(node_folder, "eventsource.mjs", {"url": url(parks, "/v1/chat/completions"), "body": body})
    assert got["data"].pop() == "[DONE]"
    assert "".join(chat_text(json.loads(data)) for data in got["data"]) == expected["chat"]
    assert got["opened"] == 1


def chat_text(chunk):
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


# ---- LangChain


def langchain(server, notices):
    return ChatOpenAI(
        base_url=url(server, "/v1"),
        api_key="none",
        model="any",
        temperature=0,
        seed=1,
        max_tokens=N_TOKENS,
        max_retries=0,
        timeout=TIMEOUT_S,
        stream_usage=True,
        extra_body=EXTRA | {"sse_notices": notices},
    )


def check_langchain(chunks, text):
    assert len(chunks) > 2
    whole = functools.reduce(lambda a, b: a + b, chunks)
    assert whole.content == text
    assert whole.response_metadata["finish_reason"] == "length"
    assert whole.usage_metadata["output_tokens"] == N_TOKENS


@each_notices
def test_langchain_stream(parks, expected, notices):
    check_langchain(list(langchain(parks, notices).stream(MESSAGES)), expected["chat"])


def test_langchain_astream(parks, expected):
    """All in one event loop: LangChain keeps its asynchronous connections, and they do not outlive their loop."""

    async def ask(notices):
        return [chunk async for chunk in langchain(parks, notices).astream(MESSAGES)]

    async def ask_all():
        return await asyncio.wait_for(asyncio.gather(*[ask(notices) for notices in NOTICES]), TIMEOUT_S)

    for chunks in asyncio.run(ask_all()):
        check_langchain(chunks, expected["chat"])


def test_langchain_invoke(parks, expected):
    assert langchain(parks, "comments").invoke(MESSAGES).content == expected["chat"]


# ---- readers of lines


def curl_lines(target, body):
    """`curl -N`: unbuffered, each line as it comes."""
    command = ["curl", "-sS", "-N", "--fail", "-H", "Content-Type: application/json", "-d", json.dumps(body), target]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout.split("\n")


def requests_lines(target, body):
    with requests.post(target, json=body, stream=True, timeout=TIMEOUT_S) as reply:
        reply.raise_for_status()
        return [line.decode() for line in reply.iter_lines()]  # decode_unicode would take text/* for Latin-1


def httpx_lines(target, body):
    with httpx.stream("POST", target, json=body, timeout=TIMEOUT_S) as reply:
        reply.raise_for_status()
        return list(reply.iter_lines())


each_reader = pytest.mark.parametrize("lines_of", [curl_lines, requests_lines, httpx_lines])


def careful(lines):
    """The data of the lines that carry data, as the standard says."""
    return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]


def naive(lines):
    """What many a script in the field does: whatever is not empty is data."""
    return [json.loads(line.removeprefix("data: ")) for line in lines if line]


@each_notices
@each_reader
def test_lines_of_completion(parks, expected, lines_of, notices):
    lines = lines_of(url(parks, "/completion"), native(stream=True, sse_notices=notices))
    events = [json.loads(data) for data in careful(lines)]
    assert "".join(event["content"] for event in events) == expected["native"]
    assert events[-1]["stop"] is True
    assert (": resumed" in lines) == (notices == "comments")


@each_notices
@each_reader
def test_lines_of_chat(parks, expected, lines_of, notices):
    lines = lines_of(url(parks, "/v1/chat/completions"), FIELDS | {"messages": MESSAGES, "stream": True, "sse_notices": notices})
    *chunks, done = careful(lines)
    assert done == "[DONE]"
    assert "".join(chat_text(json.loads(chunk)) for chunk in chunks) == expected["chat"]


@pytest.mark.parametrize("notices", ["data", "off"])
@each_reader
def test_a_client_that_takes_every_line_for_data(parks, expected, lines_of, notices):
    """F20: it works where notices are data or off."""
    events = naive(lines_of(url(parks, "/completion"), native(stream=True, sse_notices=notices)))
    assert "".join(event["content"] for event in events) == expected["native"]


@each_reader
def test_which_comments_would_break(parks, lines_of):
    """The other side of the test above: that client is as naive as it claims, and this is why notices can be turned off."""
    lines = lines_of(url(parks, "/completion"), native(stream=True, sse_notices="comments"))
    with pytest.raises(json.JSONDecodeError):
        naive(lines)


def test_curl_shows_each_event_as_it_comes(servers):
    """Nothing waits in a buffer: the first events are read from curl's output while the stream stands still, parked."""
    slow = servers.fake("-c", 262144, "--parallel", 2, "--kv-unified", env={"KVALET_FAKE_DECODE_US": "5000"})
    body = json.dumps(native(stream=True, n_predict=200000))
    with subprocess.Popen(["curl", "-sS", "-N", "-d", body, url(slow, "/completion")], stdout=subprocess.PIPE, text=True) as curl:
        try:
            assert curl.stdout.readline().startswith("data: ")
            assert slow.post("/slots/0?action=park").status == 200
            assert any(line.startswith(": preempted reason=explicit") for line in iter(curl.stdout.readline, ""))
            assert slow.requests()["data"][0]["state"] in ("swapped", "dropped")
        finally:
            curl.kill()
    slow.wait_until(lambda: slow.requests()["data"] == [], "its end")
