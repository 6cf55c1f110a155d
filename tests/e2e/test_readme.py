"""The examples of the README work as printed, but for the port."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

README = pathlib.Path(__file__).parents[2] / "README.md"
DEADLINE_S = 120


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(process, port):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise AssertionError("the server was not ready in time")


@pytest.fixture(scope="module")
def port():
    port = free_port()
    command = [os.environ["KVALET_BIN"], "serve", "-m", os.environ["KVALET_TEST_MODEL"], "--port", str(port)]
    with subprocess.Popen(command) as process:
        try:
            wait_until_ready(process, port)
            yield port
        finally:
            process.terminate()


def test_there_is_one_example_of_each_kind():
    assert len(blocks("sh")) == 1
    assert len(blocks("python")) == 1


def run_example(command, source, port):
    assert "localhost:8080" in source
    source = source.replace("localhost:8080", f"localhost:{port}")
    return subprocess.run([*command, source], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout


def test_curl(port):
    reply = json.loads(run_example(["bash", "-euc"], blocks("sh")[0], port))
    assert reply["choices"][0]["message"]["role"] == "assistant"
    assert reply["choices"][0]["message"]["content"].strip()


def test_openai_python(port):
    assert run_example([sys.executable, "-c"], blocks("python")[0], port).strip()
