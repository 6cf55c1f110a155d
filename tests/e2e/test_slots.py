"""/slots and /requests: fields and states (llama-server-api 1.3, P6.2, P7.2)."""

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
SLOW = {"KVALET_FAKE_DECODE_US": "1000"}
NEVER_PARKED = {
    "is_preempted": False, "n_preempt": 0, "n_recompute": 0, "preempt_mode": None, "preempt_reason": None, "preempt_ms": 0,
    "priority": 0, "effective_priority": 0,
}  # fmt: skip


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True} | more


def test_a_slot_that_was_never_used(servers):
    server = servers.fake("-c", 512, "--parallel", 2, "--kv-unified")
    for i, slot in enumerate(server.slots()):
        assert {k: v for k, v in slot.items() if k not in NEVER_PARKED} == {"id": i, "n_ctx": 512, "speculative": False, "is_processing": False}
        assert {k: slot[k] for k in NEVER_PARKED} == NEVER_PARKED


def test_a_slot_at_work_and_after(servers):
    server = servers.fake("-c", 2048, "--parallel", 2, "--kv-unified", env=SLOW)
    stream = server.stream("/completion", body(1500, id_slot=1, top_k=7, priority=5)).wait_tokens(5)
    # What is shown is up to a few milliseconds old: it may be of before these tokens.
    server.wait_until(lambda: server.slots()[1]["next_token"][0]["n_decoded"] >= 5, "the tokens in what is shown")
    slot = server.slots()[1]
    assert slot["is_processing"] is True
    assert (slot["n_prompt_tokens_processed"], slot["n_prompt_tokens_cache"]) == (60, 0)
    assert slot["n_prompt_tokens"] > 60
    assert slot["params"]["top_k"] == 7 and "grammar" not in slot["params"] and "stop" not in slot["params"]
    (next_token,) = slot["next_token"]
    assert next_token["has_next_token"] is True
    assert next_token["n_remain"] == 1500 - next_token["n_decoded"]
    assert slot["priority"] == 5 and slot["effective_priority"] == 5
    stream.final()
    server.wait_until(lambda: not server.slots()[1]["is_processing"], "an idle slot")
    after = server.slots()[1]
    assert after["id_task"] == slot["id_task"]
    assert after["n_prompt_tokens"] == 1559
    assert after["next_token"][0]["has_next_token"] is False
    assert after["next_token"][0]["n_decoded"] == 1500


def test_no_slot_available(servers):
    server = servers.fake("-c", 512, "--parallel", 1, env=SLOW)
    assert server.get("/slots?fail_on_no_slot=1").status == 200
    stream = server.stream("/completion", body(200)).wait_tokens(1)
    assert server.get("/slots?fail_on_no_slot=1").error == {"code": 503, "message": "no slot available", "type": "unavailable_error"}
    assert server.get("/slots").status == 200
    stream.final()


def test_forced_parks_show(servers):
    env = SLOW | {"LLAMA_SERVER_PREEMPT_EVERY": "10"}
    for preset, mode in (("swap", "swap"), ("recompute", "recompute")):
        server = servers.fake("-c", 512, "--parallel", 2, "--kv-unified", "--preempt-preset", preset, env=env)
        server.ok("/completion", body(35, id_slot=0))
        slot = server.slots()[0]
        assert slot["n_preempt"] == 3
        assert slot["preempt_mode"] == mode
        assert slot["preempt_reason"] == "forced"
        assert slot["is_preempted"] is False and slot["preempt_ms"] == 0
        replayed = sum(60 + n - 1 for n in (10, 20, 30))  # of the last token nothing was computed yet
        assert slot["n_recompute"] == (0 if mode == "swap" else replayed)


def test_requests_lists_what_waits_runs_and_is_parked(servers):
    server = servers.fake("-c", 4096, "--parallel", 2, "--kv-unified", env=SLOW)
    assert server.requests() == {"object": "list", "n_resident": 0, "n_parked": 0, "n_waiting": 0, "data": []}
    streams = [server.stream("/completion", body(1500, seed, id_slot=seed - 1)).wait_tokens(1) for seed in (1, 2)]
    ids = [stream.headers["x-request-id"] for stream in streams]
    waiting = server.stream("/completion", body(10, 3, priority=-1, id_slot=0))  # not the slot of the one that is parked
    server.wait_until(lambda: server.requests()["n_waiting"] == 1, "one that waits")
    assert server.post(f"/requests/{ids[1]}/park").status == 200
    listed = server.requests()
    assert (listed["n_resident"], listed["n_parked"], listed["n_waiting"]) == (1, 1, 1)
    assert [entry["state"] for entry in listed["data"]] == ["decoding", "swapped", "waiting"]
    assert [entry["id"] for entry in listed["data"][:2]] == ids
    parked = listed["data"][1]
    assert parked["parked_by_client"] and parked["is_preempted"] and parked["bytes"] > 0 and parked["preempt_reason"] == "explicit"
    assert listed["data"][2]["id_slot"] == -1 and listed["data"][2]["priority"] == -1
    assert server.post(f"/requests/{ids[1]}/unpark").status == 200
    for stream in [*streams, waiting]:
        stream.final()
    server.wait_until(lambda: server.requests()["data"] == [], "an empty list")
