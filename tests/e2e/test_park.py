"""Park and unpark by name (P1.5, P7.2 to P7.4; F16, F27)."""

import pytest

from harness import prompt_tokens

SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 512, "--parallel", 3, "--kv-unified", "--metrics"]
MODES = ["swap", "recompute"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True, "cache_prompt": False} | more


def request_id(stream):
    return stream.wait_headers().headers["x-request-id"]


def used(server):
    return server.metrics()["kv_cache_tokens"]


@pytest.mark.fake
@pytest.mark.parametrize("preset", MODES)
@pytest.mark.parametrize("name", ["slot", "request"])
def test_park_and_unpark_in_the_middle_of_a_stream(servers, preset, name):
    server = servers.fake(*POOL, "--preempt-preset", preset, env=SLOW)
    wanted = server.stream("/completion", body(200, id_slot=1)).wait_end().data()[:-1]
    stream = server.stream("/completion", body(200, id_slot=1)).wait_tokens(20)
    path = "/slots/1?action=" if name == "slot" else f"/requests/{request_id(stream)}/"

    before = server.slots()[1]
    reply = server.post(path + "park").json()
    assert {"id_slot", "id_task", "preempt_mode", "n_cells", "bytes", "is_preempted"} <= set(reply)
    assert (reply["id_task"], reply["preempt_mode"], reply["is_preempted"]) == (before["id_task"], preset, True)
    assert reply["id"] == request_id(stream)
    assert reply["n_cells"] >= 60
    assert (reply["bytes"] > 0) == (preset == "swap")
    assert used(server) == 0  # F16: all of its cells, nobody else has any
    assert server.metrics()["preempt_ram_bytes"] == reply["bytes"]
    stream.wait_comment("preempted")
    tokens_then = stream.n_tokens()

    other = server.ok("/completion", {"prompt": prompt_tokens(400, 5, fake=True), "n_predict": 50, "ignore_eos": True})
    assert other["tokens_predicted"] == 50  # its cells are free for others meanwhile
    assert stream.n_tokens() == tokens_then

    unparked = server.post(path + "unpark").json()
    assert unparked["id_task"] == reply["id_task"]
    assert stream.final()["tokens_predicted"] == 200
    assert stream.data()[:-1] == wanted
    assert stream.comment_words()[0] == "preempted" and stream.comment_words()[-1] == "resumed"
    metrics = server.metrics()
    assert metrics["preempt_ram_bytes"] == 0
    assert metrics.label("n_preempt_by_reason_total", "reason", "explicit") == 1


@pytest.mark.parametrize("route", ["/completion", "/v1/chat/completions"])
def test_with_a_real_model(servers, route):
    server = servers.tiny("-c", 1024, "--parallel", 2, "--kv-unified", "--metrics", "--preempt-preset", "swap")
    fields = {"temperature": 0, "ignore_eos": True, "cache_prompt": False, "id_slot": 0, "n_predict": 900}
    fields |= {"prompt": prompt_tokens(50)} if route == "/completion" else {"messages": [{"role": "user", "content": "words"}]}
    alone = server.stream(route, fields).wait_end().text()
    stream = server.stream(route, fields).wait_tokens(10)
    assert server.post(f"/requests/{request_id(stream)}/park").json()["is_preempted"] is True
    stream.wait_comment("preempted")
    assert used(server) == 0
    assert server.post(f"/requests/{request_id(stream)}/unpark").status == 200
    stream.final()
    assert stream.text() == alone


@pytest.mark.fake
def test_the_id_is_that_of_the_reply(servers):
    server = servers.fake(*POOL, env=SLOW)
    stream = server.stream("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 300, "ignore_eos": True})
    stream.wait_tokens(1)
    assert stream.events()[0]["id"] == request_id(stream)
    assert server.post(f"/requests/{stream.events()[0]['id']}/park").status == 200
    assert server.post(f"/requests/{stream.events()[0]['id']}/unpark").status == 200
    stream.final()


@pytest.mark.fake
def test_a_tool_call_waits_for_its_approval(servers):
    """F27: a chat that waits for its user gives its room away."""
    server = servers.fake("-c", 256, "--parallel", 2, "--kv-unified", "--metrics", env=SLOW)
    chat = server.stream("/completion", body(150)).wait_tokens(5)
    assert server.post(f"/requests/{request_id(chat)}/park").status == 200
    others = server.streams("/completion", [body(150, seed) for seed in (2, 3, 4)])
    assert [stream.final()["tokens_predicted"] for stream in others] == [150] * 3
    assert not chat.ended
    assert server.post(f"/requests/{request_id(chat)}/unpark").status == 200
    assert chat.final()["tokens_predicted"] == 150


@pytest.mark.fake
def test_what_cannot_be(servers):
    """P7.4: 400 or 404 with one sentence, and nothing changes."""
    server = servers.fake(*POOL, env=SLOW)
    assert server.post("/requests/unknown/park").status == 404
    assert server.post("/requests/unknown/unpark").status == 404
    assert server.post("/requests/unknown/priority", {"priority": 1}).status == 404
    assert server.post("/slots/0?action=park").status == 400  # idle
    assert server.post("/slots/0?action=unpark").status == 400
    for slot in ("7", "-1", "x"):
        assert server.post(f"/slots/{slot}?action=park").status == 400
    stream = server.stream("/completion", body(400)).wait_tokens(1)
    path = f"/requests/{request_id(stream)}"
    assert server.post(f"{path}/unpark").status == 400  # not parked
    assert server.post(f"{path}/priority", {"priority": "x"}).status == 400
    assert server.post(f"{path}/priority", {"priority": 101}).status == 400
    assert server.post(f"{path}/priority", {}).status == 400
    assert server.post(f"{path}/park").status == 200
    held = server.metrics()["preempt_ram_bytes"]
    reply = server.post(f"{path}/park")  # parked already
    assert reply.status == 400 and reply.error["message"].count(".") <= 1
    assert server.metrics()["preempt_ram_bytes"] == held > 0
    assert server.metrics()["n_preempt_total"] == 1
    assert server.post(f"{path}/unpark").status == 200
    assert stream.final()["tokens_predicted"] == 400
    assert server.post(f"{path}/park").status == 404  # it has ended


@pytest.mark.fake
def test_one_that_waits_holds_nothing_to_park(servers):
    server = servers.fake("-c", 512, "--parallel", 1, "--kv-unified", env=SLOW)
    running = server.stream("/completion", body(200)).wait_tokens(1)
    waiting = server.stream("/completion", body(5, 2))
    server.wait_until(lambda: server.requests()["n_waiting"] == 1, "one that waits")
    assert server.post(f"/requests/{server.requests()['data'][-1]['id']}/park").status in (400, 501)
    running.final()
    waiting.final()


@pytest.mark.fake
def test_park_ttl_ends_in_an_unpark(servers):
    server = servers.fake(*POOL, "--park-ttl", 1, env=SLOW)
    stream = server.stream("/completion", body(200)).wait_tokens(5)
    assert server.post(f"/requests/{request_id(stream)}/park").status == 200
    assert stream.final()["tokens_predicted"] == 200
    assert stream.comment_words().count("resumed") == 1


@pytest.mark.fake
def test_where_nothing_is_parked(servers):
    """Split pools and --no-preempt say why not."""
    for flags in (["-c", 512, "--parallel", 2], ["-c", 512, "--parallel", 2, "--kv-unified", "--no-preempt"]):
        server = servers.fake(*flags, env=SLOW)
        stream = server.stream("/completion", body(100)).wait_tokens(1)
        reply = server.post(f"/requests/{request_id(stream)}/park")
        assert reply.status == 501 and reply.error["type"] == "not_supported_error"
        stream.final()
