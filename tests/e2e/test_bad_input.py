"""Bad input gets its error, the server lives, and others' streams go on."""

import contextlib
import json
import select
import time

import pytest

from harness import prompt_tokens
from harness.client import status_of

pytestmark = pytest.mark.fake
OK_BODY = {"prompt": "x", "n_predict": 2}


@pytest.fixture(scope="module")
def server(module_servers):
    """With limits that a test can reach, and a step of 2 ms, so that a stream lasts."""
    flags = ["-c", 2048, "--parallel", 2, "--kv-unified", "--max-body-mib", 1, "--header-timeout", 1, "--body-timeout", 1]
    flags += ["--max-connections", 1200, "--max-header-kib", 16]
    return module_servers.fake(*flags, env={"KVALET_FAKE_DECODE_US": "2000"})


@pytest.fixture
def bystander(server):
    """A stream that is under way before, and must have all its tokens after."""
    stream = server.stream("/completion", {"prompt": "bystander", "n_predict": 400, "ignore_eos": True}).wait_tokens(1)
    yield stream
    assert stream.final()["tokens_predicted"] == 400
    assert server.ok("/completion", OK_BODY)["tokens_predicted"] == 2


def post(path, body):
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


# ---- bodies

BAD_BODIES = {
    "nothing": b"",
    "cut off": b'{"prompt": "x", ',
    "not json": b"prompt=x",
    "two values": b'{"prompt":"x"} {"prompt":"y"}',
    "a list": b"[1, 2]",
    "a string": b'"hello"',
    "null": b"null",
    "deep": b'{"prompt":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "invalid utf-8": b'{"prompt": "\xff\xfe\x80"}',
    "cut utf-8": b'{"prompt": "\xe2\x82"}',
    "overlong utf-8": b'{"prompt": "\xc0\xaf"}',
    "surrogate": b'{"prompt": "\xed\xa0\x80"}',
    "lone escape": b'{"prompt": "\\ud800"}',
    "nul byte": b'{"prompt": "a\x00b"}',
    "huge number": b'{"prompt": "x", "n_predict": 1e999}',
    "number too long": b'{"prompt": "x", "n_predict": ' + b"9" * 400 + b"}",
    "not a number": b'{"prompt": "x", "temperature": NaN}',
    "comment": b'{"prompt": "x" /* no */}',
    "byte order mark": b'\xef\xbb\xbf{"prompt"',
}


@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.parametrize("path", ["/completion", "/v1/chat/completions", "/tokenize", "/apply-template"])
def test_bad_bodies(server, path, name):
    reply = server.post(path, BAD_BODIES[name])
    assert reply.status == 400, reply
    assert reply.error["type"] == "invalid_request_error"
    reply.body.decode()  # the error itself is valid UTF-8


BAD_FIELDS = [
    {"prompt": 5}, {"prompt": {}}, {"prompt": []}, {"prompt": [[]]}, {"prompt": [None]}, {"prompt": [1.5]},
    {"prompt": [-1]}, {"prompt": [260]}, {"prompt": [2**40]}, {"prompt": [True]}, {"prompt": None},
    {"n_predict": -2}, {"n_predict": "5"}, {"n_predict": 1.5}, {"n_predict": 2**40}, {"n_predict": True},
    {"n_predict": None, "max_tokens": -7}, {"n_keep": -2}, {"n_discard": -1}, {"repeat_last_n": -2}, {"n_probs": -1}, {"min_keep": -1},
    {"n_cmpl": 0}, {"n_cmpl": -1}, {"n_cmpl": 10**6}, {"temperature": "hot"}, {"temperature": []},
    {"repeat_penalty": 0}, {"repeat_penalty": -1}, {"top_k": "x"}, {"seed": "x"}, {"seed": {}},
    {"stream": "yes"}, {"stream": 1}, {"cache_prompt": 0}, {"stop": 5}, {"stop": [5]}, {"samplers": [5]},
    {"logit_bias": "x"}, {"logit_bias": [[1]]}, {"logit_bias": [[1, "x"]]}, {"grammar": 5}, {"grammar": "no rule"},
    {"id_slot": "x"}, {"priority": "high"}, {"priority": 101}, {"priority": 1.5}, {"response_fields": "x"},
    {"sse_notices": "loud"}, {"sse_ping_interval": -5}, {"stream_options": 5}, {"dry_sequence_breakers": []},
]  # fmt: skip


@pytest.mark.parametrize("fields", BAD_FIELDS, ids=json.dumps)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_bad_fields(server, fields, stream):
    """Known at once, so a real status even for a stream; and the sentence names the field."""
    reply = server.post("/completion", OK_BODY | {"stream": stream} | fields)
    assert reply.status == 400, reply
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert list(fields)[-1].split("_")[0] in reply.error["message"], reply


BAD_CHATS = [
    {}, {"messages": None}, {"messages": "hello"}, {"messages": []}, {"messages": {}}, {"messages": ["hello"]},
    {"messages": [{}]}, {"messages": [{"role": "user"}]}, {"messages": [{"content": "x"}]},
    {"messages": [{"role": "wizard", "content": "x"}]}, {"messages": [{"role": 5, "content": "x"}]},
    {"messages": [{"role": "", "content": "x"}]}, {"messages": [{"role": "user", "content": 5}]},
    {"messages": [{"role": "user", "content": [5]}]}, {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
    {"messages": [{"role": "user", "content": [{"type": "smell"}]}]},
    {"messages": [{"role": "assistant", "content": "a"}] * 2},
]  # fmt: skip


@pytest.mark.parametrize("body", BAD_CHATS, ids=json.dumps)
def test_bad_chats(server, body):
    reply = server.post("/v1/chat/completions", {"max_tokens": 2} | body)
    assert reply.status == 400, reply
    assert "messages" in reply.error["message"]


NOT_YET = [
    ("/completion", {"json_schema": {}}),
    ("/completion", {"lora": [{"id": 0, "scale": 1}]}),
    ("/v1/chat/completions", {"tools": [{"type": "function", "function": {"name": "f"}}]}),
    ("/v1/chat/completions", {"response_format": {"type": "json_object"}}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}),
]


@pytest.mark.parametrize(("path", "fields"), NOT_YET, ids=str)
def test_what_is_not_there_yet_says_so(server, path, fields):
    """501 or 400 with one sentence, never silently ignored."""
    base = OK_BODY if path == "/completion" else {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
    reply = server.post(path, base | fields)
    if reply.status == 200:
        pytest.fail(f"ignored: {fields}")
    assert reply.status in (400, 501), reply
    assert reply.error["message"].count(". ") == 0


def test_a_prompt_over_the_context(server, bystander):
    for path, body in [
        ("/completion", {"prompt": prompt_tokens(5000, fake=True)}),
        ("/completion", {"prompt": "x" * 5000, "stream": True}),
        ("/v1/completions", {"prompt": "x" * 5000}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x" * 5000}]}),
    ]:
        error = server.post(path, body).error
        assert error["type"] == "exceed_context_size_error"
        assert error["n_prompt_tokens"] >= 5000 and error["n_ctx"] == 2048


# ---- HTTP


def test_a_body_over_the_limit(server, bystander):
    """413, seen before the whole body was sent."""
    with server.connect() as connection:
        connection.sendall(b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 1000)
        assert status_of(connection.recv(65536)) == 413
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with server.connect() as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 17)
        assert status_of(connection.recv(65536)) == 413


def test_headers_over_the_limit(server, bystander):
    for head in (b"X-Large: " + b"x" * 20_000, b"\r\n".join(b"X-%d: y" % i for i in range(3000))):
        with server.connect() as connection, contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
            assert status_of(connection.recv(65536)) == 431


BAD_HTTP = {
    "length and chunked": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked and length": b"POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "negative length": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n{}",
    "length of letters": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n{}",
    "length too large": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
    "bad chunk": b"POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "nonsense": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
    "no version": b"GET /health\r\n\r\n",
    "header without colon": b"GET /health HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "space before colon": b"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}",
    "nul in a header": b"GET /health HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_HTTP)
def test_bad_http(server, name):
    """One error and a closed connection: what follows in it cannot be trusted (request smuggling)."""
    received = server.raw(BAD_HTTP[name] + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert received == b"" or status_of(received) in (400, 411, 413, 501, 505), received
    assert received.count(b"HTTP/1.1") <= 1, received
    assert b'{"status":"ok"}' not in received


def test_half_a_request_and_silence(server, bystander):
    """Each is closed when its time is over; a body that never comes gets 408."""
    silent = {
        "nothing": b"",
        "half a line": b"POST /comp",
        "half a head": b"POST /completion HTTP/1.1\r\nHost: x\r\n",
        "half a body": b'POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"prompt": "x"',
        "half a chunk": b'POST /completion HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{"prompt"',
    }
    open_connections = {}
    for name, sent in silent.items():
        open_connections[name] = server.connect()
        open_connections[name].sendall(sent)
    for name, connection in open_connections.items():
        with connection:
            received = connection.recv(65536)
        assert received == b"" if name == "nothing" else status_of(received) == 408, (name, received)


def test_a_trickle_of_bytes_ends_too(server, bystander):
    """A byte now and then does not keep a connection for ever: the time is for the whole head."""
    sent = iter(b"GET /health HTTP/1.1\r\nX-Slow: " + b"x" * 10_000)
    deadline = time.monotonic() + 60
    with server.connect() as connection:
        connection.setblocking(False)
        while not select.select([connection], [], [], 0.02)[0]:
            assert time.monotonic() < deadline, "it goes on for ever"
            connection.send(bytes([next(sent)]))
        connection.setblocking(True)
        assert status_of(connection.recv(65536)) == 408


def test_a_thousand_that_say_nothing(server, bystander):
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(server.connect())
        assert server.get("/health").status == 200
        assert server.ok("/completion", OK_BODY)["tokens_predicted"] == 2


def test_more_connections_than_allowed(server, bystander):
    """Those that were idle longest give way, or the new one is refused; who works is not touched."""
    with contextlib.ExitStack() as stack:
        for _ in range(1500):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(server.connect())
        server.wait_until(lambda: server.health() == 200, "health")


def test_unknown_routes_and_methods(server):
    assert server.get("/nothing").error == {"code": 404, "message": "File Not Found", "type": "not_found_error"}
    assert server.post("/v1/nothing").status == 404
    assert server.get("/../../etc/passwd").status in (400, 404)
    assert server.get("/%2e%2e/%2e%2e/etc/passwd").status in (400, 404)
    assert server.get("/health%00").status in (400, 404)
    reply = server.get("/completion")
    assert reply.status == 405 and "POST" in reply.headers["allow"]
    reply = server.request("DELETE", "/health")
    assert reply.status == 405 and "GET" in reply.headers["allow"]


def test_head_and_keep_alive(server):
    received = server.raw(
        b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n"
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        b"GET http://x/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    head, first, second = received.split(b"HTTP/1.1 200 ")[1:]
    assert b"Content-Length: 15" in head and not head.endswith(b"}")
    assert first.endswith(b'{"status":"ok"}') and second.endswith(b'{"status":"ok"}')


def test_expect_continue(server):
    body = json.dumps(OK_BODY).encode()
    with server.connect() as connection:
        head = f"POST /completion HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert status_of(connection.recv(65536)) == 200


def test_http_1_0(server):
    body = json.dumps(OK_BODY | {"stream": True}).encode()
    received = server.raw(b"POST /completion HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    head, _, rest = received.partition(b"\r\n\r\n")
    assert status_of(head) == 200 and b"chunked" not in head.lower()
    assert rest.count(b"data: ") >= 2 and b'"stop":true' in rest


def test_pipelined_bodies(server):
    """Two generations sent in one go are answered in order."""
    one = post("/completion", json.dumps(OK_BODY).encode()).replace(b"Connection: close\r\n", b"")
    two = post("/tokenize", b'{"content":"ab"}')
    received = server.raw(one + two)
    assert received.count(b"HTTP/1.1 200 ") == 2
    assert received.index(b'"tokens_predicted":2') < received.index(b'{"tokens":[97,98]}')
