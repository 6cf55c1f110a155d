"""The examples of the README work as printed, but for the port."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).parents[2] / "README.md"
DEADLINE_S = 120


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def port(module_servers):
    return module_servers.model().port


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
