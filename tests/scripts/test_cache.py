"""What the set-up promises of its cache: whole or absent, healed by the next run, made once by two runs at once."""

import os
import pathlib
import signal
import subprocess
import time

import pytest

REPO = pathlib.Path(__file__).parents[2]
DEADLINE_S = 60

# A step that takes as long as the pipe named in HOLD stays unread, so that a test decides when it goes on.
STEP = """
set -euo pipefail
source scripts/common.sh
make_it() {
  echo call >>"$CALLS"
  slow "making it" "$cache/logs/it.log" bash -c 'echo half >"$0/file"; [[ -z $HOLD ]] || cat "$HOLD"; echo whole >"$0/file"' "$1"
}
made_once "$cache/it" make_it
cat "$cache/it/file"
"""


class Cache:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.calls = root / "calls"
        self.hold = root / "hold"
        os.mkfifo(self.hold)

    def start(self, hold: bool) -> subprocess.Popen:
        env = os.environ | {"KVALET_DEPS": str(self.root / "cache"), "CALLS": str(self.calls)}
        env["HOLD"] = str(self.hold) if hold else ""
        return subprocess.Popen(
            ["bash", "-c", STEP], cwd=REPO, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def release(self) -> None:
        self.hold.open("w").close()  # returns when the step has opened its end

    def wait_until_half_way(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not list(self.root.glob("cache/tmp/it.*/file")):
            assert time.monotonic() < deadline, "the step did not start"
            time.sleep(0.01)

    def n_calls(self) -> int:
        return len(self.calls.read_text().split())


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def finish(process):
    output, _ = process.communicate(timeout=DEADLINE_S)
    return output, process.returncode


def test_an_interrupted_step_leaves_nothing_and_the_next_run_makes_it(cache):
    first = cache.start(hold=True)
    cache.wait_until_half_way()
    os.killpg(first.pid, signal.SIGINT)
    output, code = finish(first)
    assert code != 0 and output == ""
    assert not (cache.root / "cache" / "it").exists()

    assert finish(cache.start(hold=False)) == ("whole\n", 0)
    assert list((cache.root / "cache" / "tmp").iterdir()) == []


def test_a_third_run_does_nothing(cache):
    assert finish(cache.start(hold=False)) == ("whole\n", 0)
    assert finish(cache.start(hold=False)) == ("whole\n", 0)
    assert cache.n_calls() == 1


def test_of_two_runs_at_once_one_makes_it_and_both_have_it(cache):
    first = cache.start(hold=True)
    cache.wait_until_half_way()
    second = cache.start(hold=False)
    cache.release()
    assert finish(first) == ("whole\n", 0)
    assert finish(second) == ("whole\n", 0)
    assert cache.n_calls() == 1


def test_a_failing_step_is_an_error_and_leaves_nothing(cache):
    env = os.environ | {"KVALET_DEPS": str(cache.root / "cache")}
    script = (
        "set -euo pipefail; source scripts/common.sh; "
        'make_it() { slow "making it" "$cache/logs/it.log" bash -c "echo the reason; exit 3"; }; '
        'made_once "$cache/it" make_it; echo went on'
    )
    run = subprocess.run(["bash", "-c", script], cwd=REPO, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "the reason" in run.stderr
    assert run.stdout == ""
    assert not (cache.root / "cache" / "it").exists()


def test_another_cmake_args_is_another_prefix():
    def prefix(cmake_args):
        env = os.environ | {"CMAKE_ARGS": cmake_args}
        return subprocess.run(
            ["scripts/deps.sh", "path", "libllama"], cwd=REPO, env=env, capture_output=True, text=True, check=True
        ).stdout

    assert prefix("-DGGML_CUDA=on") != prefix("-DGGML_VULKAN=on")
    assert prefix("-DGGML_CUDA=on") == prefix("-DGGML_CUDA=on")
