"""Starting, and failing to: one clear line and exit code 1; 503 while the model is loaded."""

import os
import pathlib
import socket
import subprocess

import pytest

from harness import binary, fake_binary, tiny_path
from harness.server import clean_environment

DEADLINE_S = 60


def run(*arguments, program=None, env=None):
    return subprocess.run(
        [program or binary(), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_S, env=clean_environment(env)
    )


def assert_one_line(done, *words):
    assert done.returncode == 1, done
    said = (done.stdout + done.stderr).strip().splitlines()
    complaint = [line for line in said if line.startswith("kvalet: ")]
    assert len(complaint) == 1, said
    for word in words:
        assert word in complaint[0], (word, complaint[0])


BAD = [
    (["-m", "no-such-file.gguf"], ["--model", "no-such-file.gguf"]),
    ([], ["--model"]),
    (["-m", "x", "--nonsense"], ["--nonsense"]),
    (["-m", "x", "-c", "many"], ["--ctx-size", "many"]),
    (["-m", "x", "-c", "-5"], ["--ctx-size"]),
    (["-m", "x", "-c"], ["-c"]),
    (["-m", "x", "--parallel", "0"], ["--parallel"]),
    (["-m", "x", "--parallel", "100000"], ["--parallel"]),
    (["-m", "x", "--port", "99999"], ["--port", "99999"]),
    (["-m", "x", "--cache-type-k", "f17"], ["--cache-type-k", "f17"]),
    (["-m", "x", "--flash-attn", "perhaps"], ["--flash-attn"]),
    (["-m", "x", "--slot-save-path", "no-such-folder"], ["--slot-save-path", "no-such-folder"]),
    (["-m", "x", "--api-key-file", "no-such-file"], ["--api-key-file", "no-such-file"]),
    (["-m", "x", "--preempt-preset", "magic"], ["--preempt-preset", "magic"]),
    (["-m", "x", "--preempt-ram", "-2"], ["--preempt-ram"]),
    (["-m", "x", "--preempt-ram", "lots"], ["--preempt-ram", "lots"]),
    (["-m", "x", "--preempt-trigger", "half"], ["--preempt-trigger", "half"]),
    (["-m", "x", "--preempt-victim", "oldest"], ["--preempt-victim", "oldest"]),
    (["-m", "x", "--preempt-resume", "random"], ["--preempt-resume", "random"]),
    (["-m", "x", "--preempt-high", "101"], ["--preempt-high"]),
    (["-m", "x", "--preempt-low", "-1"], ["--preempt-low"]),
    (["-m", "x", "--preempt-trigger", "watermark", "--preempt-high", "50", "--preempt-low", "60"], ["--preempt-high", "--preempt-low"]),
    (["-m", "x", "--preempt-min-run", "-1"], ["--preempt-min-run"]),
    (["-m", "x", "--mmproj", "y"], ["--mmproj"]),  # known to llama-server, named as not there yet
    (["-m", "x", "--lora", "y"], ["--lora"]),
    (["-m", "x", "-md", "y"], ["-md"]),
    (["-m", "x", "--embedding"], ["--embedding"]),
    (["nonsense"], ["nonsense"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: " ".join(value))
def test_a_bad_start_says_why_in_one_line(arguments, words):
    assert_one_line(run(*arguments), *words)


def test_a_bad_variable_is_named():
    assert_one_line(run("-m", "x", env={"LLAMA_ARG_CTX_SIZE": "many"}), "LLAMA_ARG_CTX_SIZE", "many")
    assert_one_line(run("-m", "x", env={"LLAMA_ARG_PREEMPT_HIGH": "150"}), "LLAMA_ARG_PREEMPT_HIGH")


def test_a_port_in_use(servers):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_one_line(run("-m", tiny_path(), "--port", port), str(port), "in use")


def test_a_file_that_is_no_model(tmp_path):
    nonsense = tmp_path / "nonsense.gguf"
    nonsense.write_bytes(b"GGUF" + os.urandom(4096))
    assert_one_line(run("-m", nonsense, "--port", 0), "nonsense.gguf")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(pathlib.Path(tiny_path()).read_bytes()[:200_000])
    assert_one_line(run("-m", cut, "--port", 0), "cut.gguf")
    assert_one_line(run("-m", tmp_path, "--port", 0), str(tmp_path))


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["serve", "--help"]], ids=" ".join)
def test_help(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    for word in ("--model", "--ctx-size", "--parallel", "--preempt-preset", "LLAMA_ARG_CTX_SIZE", "--host"):
        assert word in done.stdout


def test_version():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("version: ")


@pytest.mark.fake
@pytest.mark.parametrize("arguments", [["serve", "-m", "fake.gguf"], ["-m", "fake.gguf"], ["--model=fake.gguf"]], ids=" ".join)
def test_serve_is_what_happens_without_a_word(servers, arguments):
    server = servers.start([fake_binary(), *arguments])
    assert server.get("/props").json()["total_slots"] == 4


@pytest.mark.fake
def test_spellings_and_variables(servers):
    """--a_b is --a-b, --flag=value is --flag value, and flags win over variables."""
    env = {"LLAMA_ARG_CTX_SIZE": "512", "LLAMA_ARG_N_PARALLEL": "7", "LLAMA_ARG_KV_UNIFIED": "1", "LLAMA_ARG_ENDPOINT_METRICS": "on"}
    server = servers.fake("--ctx_size=1024", "--slot_prompt_similarity", 0.5, env=env)
    props = server.get("/props").json()
    assert props["total_slots"] == 7
    assert props["default_generation_settings"]["n_ctx"] == 1024
    assert server.get("/metrics").status == 200


@pytest.mark.fake
def test_sampling_flags_are_the_defaults(servers):
    server = servers.fake("--temp", 0.25, "--top-k", 7, "-n", 5, "--repeat-penalty", 1.5, "-s", 99)
    params = server.get("/props").json()["default_generation_settings"]["params"]
    assert (params["temperature"], params["top_k"], params["n_predict"], params["repeat_penalty"], params["seed"]) == (0.25, 7, 5, 1.5, 99)
    reply = server.ok("/completion", {"prompt": "x", "ignore_eos": True})
    assert reply["tokens_predicted"] == 5
    assert reply["generation_settings"]["top_k"] == 7
    assert server.ok("/completion", {"prompt": "x", "top_k": 3, "n_predict": 2})["generation_settings"]["top_k"] == 3


@pytest.mark.fake
def test_503_while_the_model_is_loaded(servers, tmp_path):
    loaded = tmp_path / "loaded"
    server = servers.fake("--metrics", "--api-key", "k", env={"KVALET_FAKE_LOAD": str(loaded)}, ready=False)
    server.wait_until(lambda: server.health() is not None, "a server that listens")
    wanted = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
    for method, path in [("GET", "/health"), ("GET", "/v1/models"), ("POST", "/completion"), ("GET", "/metrics"), ("GET", "/slots")]:
        assert server.request(method, path, None).error == wanted
    assert server.request("OPTIONS", "/completion").status == 200
    loaded.touch()
    server.wait_ready()
    assert server.get("/slots").status == 401
    assert server.get("/slots", {"Authorization": "Bearer k"}).status == 200


@pytest.mark.fake
def test_an_end_while_the_model_is_loaded(servers, tmp_path):
    server = servers.fake(env={"KVALET_FAKE_LOAD": str(tmp_path / "never")}, ready=False)
    server.wait_until(lambda: server.health() == 503, "503")
    assert server.end() == 0


@pytest.mark.fake
def test_an_alias_names_the_model(servers):
    server = servers.fake("-a", "zebra,ant", "--tags", "b,a")
    entry = server.get("/v1/models").json()["data"][0]
    assert (entry["id"], entry["aliases"], entry["tags"]) == ("ant", ["ant", "zebra"], ["a", "b"])
    assert server.ok("/v1/completions", {"prompt": "x", "max_tokens": 1, "model": "whatever"})["model"] == "ant"


def test_without_flags_there_are_four_slots_and_one_pool(servers):
    """llama-server-api 2: -np -1 is 4 slots and a unified pool of what the model was trained with."""
    server = servers.tiny()
    slots = server.slots()
    assert [slot["n_ctx"] for slot in slots] == [8192] * 4


def test_an_explicit_number_of_slots_splits_the_pool(servers):
    server = servers.tiny("-c", 1024, "-np", 4)
    assert [slot["n_ctx"] for slot in server.slots()] == [256] * 4
    reply = server.ok("/completion", {"prompt": [300] * 100, "n_predict": 500, "ignore_eos": True})
    assert (reply["stop_type"], reply["truncated"], reply["tokens_cached"]) == ("limit", True, 255)


@pytest.mark.fake
def test_a_unix_socket(servers, tmp_path):
    path = tmp_path / "kvalet.sock"
    server = servers.start([fake_binary(), "-m", "fake.gguf", "--host", str(path)], ready=False)
    server.wait_until(path.exists, "the socket")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(str(path))
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 ")
    assert server.end() == 0
    assert not path.exists()
