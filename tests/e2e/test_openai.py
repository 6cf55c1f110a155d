"""The official Python client, against a server that parks every third token."""

import asyncio

import openai
import pytest

MESSAGES = [{"role": "user", "content": "Some words, please."}]
OPTIONS = {"model": "any", "max_tokens": 40, "temperature": 0, "seed": 1, "extra_body": {"ignore_eos": True, "cache_prompt": False, "id_slot": 0}}
NOTICES = ["comments", "data", "off"]
# One thread: a model this small gains nothing by two, which on a busy machine wait for each other.
POOL = ["-c", 512, "--parallel", 2, "--kv-unified", "--threads", 1]
TIMEOUT_S = 60


def with_notices(notices):
    return OPTIONS | {"extra_body": OPTIONS["extra_body"] | {"sse_notices": notices}}


@pytest.fixture(scope="module")
def server(module_servers):
    flags = ["--metrics", "--preempt-preset", "swap", "-a", "tiny"]
    return module_servers.tiny(*POOL, *flags, env={"LLAMA_SERVER_PREEMPT_EVERY": "3"})


@pytest.fixture(scope="module")
def expected(module_servers):
    """What a server that parks nobody says."""
    plain = module_servers.tiny(*POOL)
    fields = {k: v for k, v in OPTIONS.items() if k != "extra_body"} | OPTIONS["extra_body"]
    return {
        "chat": plain.ok("/v1/chat/completions", fields | {"messages": MESSAGES})["choices"][0]["message"]["content"],
        "text": plain.ok("/v1/completions", fields | {"prompt": "Some words"})["choices"][0]["text"],
    }


def arguments(server):
    return {"base_url": f"http://127.0.0.1:{server.port}/v1", "api_key": "none", "timeout": TIMEOUT_S, "max_retries": 0}


@pytest.fixture
def client(server):
    with openai.OpenAI(**arguments(server)) as made:
        yield made


def test_chat(client, expected):
    reply = client.chat.completions.create(messages=MESSAGES, **OPTIONS)
    assert reply.object == "chat.completion" and reply.model == "tiny"
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content == expected["chat"]
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage.completion_tokens == 40
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 40
    assert reply.id.startswith("chatcmpl-")


def test_chat_stream(client, expected):
    chunks = list(client.chat.completions.create(messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **OPTIONS))
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == expected["chat"]
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["length"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 40
    assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.parametrize("notices", NOTICES)
def test_notices_do_not_disturb_it(client, expected, notices):
    stream = client.chat.completions.create(messages=MESSAGES, stream=True, **with_notices(notices))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == expected["chat"]
    stream = client.completions.create(prompt="Some words", stream=True, **with_notices(notices))
    assert "".join(chunk.choices[0].text for chunk in stream) == expected["text"]


def test_completions(client, expected):
    reply = client.completions.create(prompt="Some words", **OPTIONS)
    assert reply.object == "text_completion"
    assert reply.choices[0].text == expected["text"]
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage.completion_tokens == 40


def test_completions_stream(client, expected):
    chunks = list(client.completions.create(prompt="Some words", stream=True, **OPTIONS))
    assert "".join(chunk.choices[0].text for chunk in chunks) == expected["text"]
    assert chunks[-1].choices[0].finish_reason == "length"


def test_logprobs(client):
    reply = client.chat.completions.create(messages=MESSAGES, logprobs=True, top_logprobs=3, **OPTIONS | {"max_tokens": 4})
    entries = reply.choices[0].logprobs.content
    assert len(entries) == 4
    for entry in entries:
        assert len(entry.top_logprobs) == 3
        assert entry.logprob == entry.top_logprobs[0].logprob <= 0  # greedy takes the likeliest
        assert bytes(entry.bytes).decode(errors="replace").startswith(entry.token[:1])


@pytest.mark.parametrize("notices", NOTICES)
def test_several_at_once(server, expected, notices):
    async def ask(client):
        stream = await client.chat.completions.create(messages=MESSAGES, stream=True, **with_notices(notices))
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def ask_all():
        async with openai.AsyncOpenAI(**arguments(server)) as client:
            return await asyncio.wait_for(asyncio.gather(*[ask(client) for _ in range(4)]), TIMEOUT_S)

    assert asyncio.run(ask_all()) == [expected["chat"]] * 4  # all want slot 0: one after the other


def test_async_plain(server, expected):
    async def ask():
        async with openai.AsyncOpenAI(**arguments(server)) as client:
            chat = await client.chat.completions.create(messages=MESSAGES, **OPTIONS)
            completion = await client.completions.create(prompt="Some words", **OPTIONS)
            return chat.choices[0].message.content, completion.choices[0].text

    assert asyncio.run(ask()) == (expected["chat"], expected["text"])


def test_models(client):
    models = list(client.models.list())
    assert [model.id for model in models] == ["tiny"]


def test_errors_have_their_classes(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="any", messages=[])
    assert caught.value.status_code == 400 and "messages" in caught.value.body["message"]
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="any", prompt="word " * 3000)
    assert caught.value.body["type"] == "exceed_context_size_error"
    assert caught.value.body["n_ctx"] == 512
    with pytest.raises(openai.NotFoundError):
        client.get("/nothing", cast_to=object)


def test_it_was_parked_all_the_time(client, server):
    client.completions.create(prompt="Some words", **OPTIONS)
    assert server.metrics()["n_preempt_total"] >= 13
