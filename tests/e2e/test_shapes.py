"""Replies have the shape of llama-server's, which compare_peer.py recorded: status, content type, keys in their order,
types, and the words of the protocol. Where Kvalet differs it is written down here, with the reason."""

import json
import pathlib
import re

import pytest

from harness.answers import ask
from harness.cases import FLAGS, all_cases
from harness.shapes import differences

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden" / "llama-server.json").read_text())

PREEMPTION = "is_preempted|n_preempt|n_recompute|preempt_mode|preempt_reason|preempt_ms|priority|effective_priority"
# Case, difference, reason.
DEVIATIONS = [
    ("slots", rf"/({PREEMPTION}): not in theirs", "P6.2: what llama-server has no words for"),
    ("completion progress-stream", "tokens", "llama-server says that a progress event has the token 0; it has none"),
    ("chat verbose", "chat_format", "there are no templates by jinja yet"),
    ("error unknown route", "order", "code, message, type in all errors"),
    ("error wrong method", ".*", "405 with Allow says more than 404"),
    ("error stop number", ".*", "refused, not ignored"),
    ("error samplers", ".*", "refused, not ignored"),
    ("error logit_bias", ".*", "refused, not ignored"),
    ("error chat empty messages", ".*", "refused: there is nothing to answer"),
    ("error chat unknown role", ".*", "refused: a template would drop it or make up a turn"),
    ("error chat no role", ".*", "what the client did wrong is 400, not 500"),
]


@pytest.fixture(scope="module")
def answers(module_servers, tmp_path_factory):
    server = module_servers.tiny(*FLAGS, "--slot-save-path", str(tmp_path_factory.mktemp("slots")))
    return {case.name: ask(server, case).shape() for case in all_cases()}


def all_differences(ours, theirs):
    found = [f"{key} {ours[key]} instead of {theirs[key]}" for key in ("status", "content-type", "other") if ours[key] != theirs[key]]
    return found + differences(ours["body"], theirs["body"])


def allowed(name, difference):
    return any(name == case and re.search(pattern, difference) for case, pattern, _ in DEVIATIONS)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_shape_is_that_of_llama_server(answers, name):
    found = all_differences(answers[name], GOLDEN[name])
    assert [difference for difference in found if not allowed(name, difference)] == []


def test_every_case_was_recorded(answers):
    assert list(answers) == list(GOLDEN)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation[0])
def test_each_deviation_is_there(answers, deviation):
    name, pattern, _ = deviation
    assert any(re.search(pattern, d) for d in all_differences(answers[name], GOLDEN[name])), "written down, but gone"
