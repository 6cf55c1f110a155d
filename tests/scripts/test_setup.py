"""What is there already costs nothing: the set-up of `make test`, asked for again, says nothing and asks nobody."""

import json
import os
import pathlib
import subprocess

REPO = pathlib.Path(__file__).parents[2]
ALL = ["packages", "test-packages", "libllama", "model", "tools", "clients", "tiny-models"]
NOBODY = "http://127.0.0.1:9"


def deps(*arguments, **environment):
    command = [REPO / "scripts" / "deps.sh", *arguments]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120)
    return run.returncode, run.stdout, run.stderr


def test_a_second_run_asks_no_network(tmp_path):
    """Whatever is fetched or made is announced first. Package managers that are called all the same leave a mark."""
    mark = tmp_path / "called"
    for name in ("apt-get", "pip", "npm"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{mark}"\nexit 1\n')
        (tmp_path / name).chmod(0o755)
    proxies = dict.fromkeys(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"], NOBODY)
    assert deps("ensure", *ALL, PATH=f"{tmp_path}:{os.environ['PATH']}", **proxies) == (0, "", "")
    assert not mark.exists()


def test_the_node_clients_are_exactly_those_that_are_named():
    pinned = json.loads((REPO / "tests/e2e/clients/package.json").read_text())["dependencies"]
    code, folder, _ = deps("path", "clients")
    assert code == 0
    found = pathlib.Path(folder.strip()).glob("node_modules/**/package.json")
    packages = [json.loads(path.read_text()) for path in found if path.parent.parent.name == "node_modules"]
    assert {package["name"]: package["version"] for package in packages} == pinned
