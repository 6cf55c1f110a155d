"""Orders that cannot be carried out (P7.4): one sentence, and nothing has changed, by slot and by request id alike; and
who may give them at all."""

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
POOL = ["-c", 8192, "--parallel", 2, "--kv-unified", "--metrics"]
KEY = {"Authorization": "Bearer secret"}
STATE = ["is_processing", "is_preempted", "n_preempt", "preempt_mode", "preempt_reason", "priority", "effective_priority"]


def streaming(server, n_predict=1500, headers=None):
    """One that runs in slot 1, while slot 0 is idle."""
    body = {"prompt": prompt_tokens(60, fake=True), "n_predict": n_predict, "ignore_eos": True, "id_slot": 1}
    return server.stream("/completion", body, headers).wait_tokens(3)


def orders_of(stream):
    """Park, unpark, each in both spellings; and priority, which has one."""
    request = f"/requests/{stream.headers['x-request-id']}"
    return {
        "slot": {"park": "/slots/1?action=park", "unpark": "/slots/1?action=unpark"},
        "request": {"park": f"{request}/park", "unpark": f"{request}/unpark", "priority": f"{request}/priority"},
    }


def state(server, headers=None):
    slots = [{k: slot[k] for k in STATE} for slot in server.get("/slots", headers).json()]
    return slots, server.get("/requests", headers).json()["n_parked"]


def assert_refused(server, path, statuses, body=None):
    before, parks = state(server), server.metrics()["n_preempt_total"]
    reply = server.post(path, body)
    assert reply.status in statuses, (path, reply)
    message = reply.error["message"]
    assert "\n" not in message and ". " not in message, "one sentence"
    assert state(server) == before
    assert server.metrics()["n_preempt_total"] == parks


@pytest.mark.parametrize("spelling", ["slot", "request"])
def test_what_is_not_so(servers, spelling):
    server = servers.fake(*POOL, env=SLOW)
    stream = streaming(server)
    order = orders_of(stream)[spelling]
    assert_refused(server, order["unpark"], {400})  # it runs
    assert server.post(order["park"]).json()["is_preempted"] is True
    for other in ("slot", "request"):  # the other name is the same request
        assert_refused(server, orders_of(stream)[other]["park"], {400})
    assert server.metrics()["preempt_ram_bytes"] > 0
    assert server.post(order["unpark"]).status == 200
    server.wait_until(lambda: server.requests()["n_parked"] == 0, "its return")
    assert_refused(server, order["unpark"], {400})  # it is back
    assert stream.final()["tokens_predicted"] == 1500
    server.wait_until(lambda: server.requests()["data"] == [], "its end")
    for path in order.values():  # it has ended
        assert_refused(server, path, {400} if spelling == "slot" else {404}, {"priority": 1})
    assert server.metrics()["n_preempt_total"] == server.metrics()["n_resume_total"] == 1


def test_names_that_nobody_has(servers):
    server = servers.fake(*POOL, env=SLOW)
    stream = streaming(server, 8000)
    for action in ("park", "unpark"):
        for slot in ("0", "2", "99", "-1", "x", "1x", "99999999999999999999"):
            assert_refused(server, f"/slots/{slot}?action={action}", {400})
        for name in ("x", "chatcmpl-", "1", "0", "%20", stream.headers["x-request-id"] + "x", stream.headers["x-request-id"][:-1]):
            assert_refused(server, f"/requests/{name}/{action}", {404})
    assert_refused(server, "/requests/x/priority", {404}, {"priority": 1})
    for action in ("parking", "", "PARK", "park%20"):
        assert_refused(server, f"/slots/1?action={action}", {400})
    assert_refused(server, "/slots/1", {400})
    assert_refused(server, f"/requests/{stream.headers['x-request-id']}/stop", {404})
    assert stream.comments() == [] and not stream.ended
    stream.abort()


def test_the_key_of_slots_guards_them(servers):
    server = servers.fake(*POOL, "--api-key", "secret", env=SLOW)
    stream = streaming(server, headers=KEY)
    before = state(server, KEY)
    orders = [path for by_name in orders_of(stream).values() for path in by_name.values()]
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        for path in orders:
            assert server.post(path, {"priority": 9}, headers).error["type"] == "authentication_error"
            assert server.post(path, {"priority": 9}, headers).status == 401
        for path in ("/slots", "/requests"):
            assert server.get(path, headers).status == 401
    assert state(server, KEY) == before
    for by_name in orders_of(stream).values():
        for path in by_name.values():
            assert server.post(path, {"priority": 9}, KEY).status == 200, path
            if path.endswith("unpark"):
                server.wait_until(lambda: server.get("/requests", KEY).json()["n_parked"] == 0, "its return")
    assert stream.final()["tokens_predicted"] == 1500
    assert stream.comment_words() == ["preempted", "resumed"] * 2


def test_without_slots_there_are_none(servers):
    server = servers.fake(*POOL, "--no-slots", env=SLOW)
    stream = streaming(server)
    for by_name in orders_of(stream).values():
        for path in by_name.values():
            error = server.post(path, {"priority": 9}).error
            assert (error["code"], error["type"]) == (501, "not_supported_error"), path
            assert "--no-slots" in error["message"]
    assert stream.final()["tokens_predicted"] == 1500
    assert stream.comments() == []
    assert server.metrics()["n_preempt_total"] == 0
