"""Who may ask, from where, under which path (llama-server-api 1.0)."""

import pytest

pytestmark = pytest.mark.fake
KEYED = ["/v1/models", "/models", "/props", "/slots", "/metrics", "/requests"]
ORIGIN = {"Origin": "http://page.example"}


@pytest.fixture(scope="module")
def guarded(module_servers, tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "keys.txt"
    file.write_text("# a comment\nfrom-file\n\n  spaced  \n")
    return module_servers.fake("--api-key", "one,two", "--api-key-file", file, "--metrics")


@pytest.mark.parametrize("path", KEYED)
def test_a_key_is_needed(guarded, path):
    wanted = {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"X-Api-Key": "wrong"}, {"Authorization": "Bearer one "[:-2]}):
        assert guarded.get(path, headers).error == wanted


def test_every_way_to_show_a_key(guarded):
    for key in ("one", "two", "from-file", "spaced"):
        for headers in ({"Authorization": f"Bearer {key}"}, {"Authorization": key}, {"X-Api-Key": key}):
            assert guarded.get("/v1/models", headers).status == 200, headers
    assert guarded.get("/v1/models", {"Authorization": "Bearer wrong", "X-Api-Key": "one"}).status == 401


def test_generation_and_orders_need_it_too(guarded):
    for path in ("/completion", "/v1/chat/completions", "/tokenize", "/slots/0?action=park", "/requests/x/park", "/nothing"):
        assert guarded.post(path).status == 401, path
    reply = guarded.post("/completion", {"prompt": "x", "n_predict": 1}, {"Authorization": "Bearer one"})
    assert reply.status == 200


def test_what_is_public(guarded):
    for path in ("/health", "/v1/health", "/"):
        assert guarded.get(path).status == 200


def test_the_default_echoes_every_origin(guarded):
    assert guarded.get("/health", ORIGIN).headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert guarded.get("/v1/models", ORIGIN).headers["access-control-allow-origin"] == ORIGIN["Origin"]  # on a 401 too
    assert guarded.get("/nothing", ORIGIN).headers["access-control-allow-origin"] == ORIGIN["Origin"]


def test_a_preflight_needs_no_key(guarded):
    reply = guarded.request("OPTIONS", "/v1/chat/completions", None, ORIGIN)
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert reply.headers["access-control-allow-credentials"] == "true"
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert reply.headers["access-control-allow-headers"] == "*"


def test_a_stream_carries_the_headers_too(guarded):
    stream = guarded.stream("/completion", {"prompt": "x", "n_predict": 1}, {"Authorization": "Bearer one"} | ORIGIN)
    stream.final()
    assert stream.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert stream.headers["server"] == "llama.cpp"
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["transfer-encoding"] == "chunked"
    assert stream.headers["x-accel-buffering"] == "no"
    assert stream.headers["cache-control"] == "no-cache"
    assert stream.headers["x-request-id"].startswith("chatcmpl-")


def test_only_this_machine(servers):
    server = servers.fake("--cors-origins", "localhost", "--no-cors-credentials")
    for origin in ("http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443"):
        assert server.get("/health", {"Origin": origin}).headers["access-control-allow-origin"] == origin
    for origin in ("http://page.example", "http://localhost.example", "http://127.0.0.1.example", "null"):
        assert "access-control-allow-origin" not in server.get("/health", {"Origin": origin}).headers
    preflight = server.request("OPTIONS", "/", None, {"Origin": "http://localhost"})
    assert preflight.headers["access-control-allow-credentials"] == "false"


def test_a_prefix(servers):
    server = servers.fake("--api-prefix", "/llm", "--api-key", "k", prefix="/llm")
    key = {"Authorization": "Bearer k"}
    assert server.get("/v1/models", key).status == 200
    assert server.post("/completion", {"prompt": "x", "n_predict": 1}, key).status == 200
    server.prefix = ""
    assert server.get("/v1/models", key).status == 404
    assert server.get("/health", key).status == 404


def test_what_is_off_says_how_to_switch_it_on(servers):
    server = servers.fake("--no-slots")
    for method, path, flag in [
        ("GET", "/slots", "--no-slots"), ("GET", "/metrics", "--metrics"), ("POST", "/props", "--props"),
        ("POST", "/slots/0?action=save", "--slot-save-path"), ("POST", "/slots/0?action=erase", "--slot-save-path"),
        ("POST", "/slots/0?action=park", "--no-slots"), ("POST", "/requests/x/park", "--no-slots"), ("GET", "/requests", "--no-slots"),
    ]:  # fmt: skip
        error = server.request(method, path, {} if method == "POST" else None).error
        assert (error["code"], error["type"]) == (501, "not_supported_error")
        assert flag in error["message"]
