#!/usr/bin/env python3
"""Asks llama-server and Kvalet the same questions and prints where they differ: status, shape, key order, values.

    tests/e2e/compare_peer.py            both servers, all differences
    tests/e2e/compare_peer.py --record   llama-server alone; writes golden/llama-server.json, which test_shapes.py reads

llama-server is built by `make peer`. Not part of the tests: its answers were recorded, so that they run without it.
"""

import argparse
import contextlib
import json
import pathlib
import re
import tempfile

from harness import Server, binary, peer_binary, tiny_path
from harness.answers import Answer, ask
from harness.cases import FLAGS, all_cases
from harness.shapes import differences, short

GOLDEN = pathlib.Path(__file__).parent / "golden" / "llama-server.json"
# What differs from run to run.
VOLATILE = re.compile(
    r"/(error/message|created|id|system_fingerprint|build_info|media_marker|id_task|id_slot|time_ms|seed|model_path"
    r"|prompt_ms|prompt_per_token_ms|prompt_per_second|predicted_ms|predicted_per_token_ms|predicted_per_second)$"
)


def value_differences(ours, theirs, where="") -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [line for key in ours if key in theirs for line in value_differences(ours[key], theirs[key], f"{where}/{key}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            return [f"{where}: {len(ours)} elements instead of {len(theirs)}"]
        return [line for i, (a, b) in enumerate(zip(ours, theirs)) for line in value_differences(a, b, f"{where}[{i}]")]
    if isinstance(ours, float) or isinstance(theirs, float):
        if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)) and abs(ours - theirs) < 1e-3:
            return []
    if ours == theirs or VOLATILE.search(where) or type(ours) is not type(theirs):
        return []
    return [f"{where}: {short(ours)} instead of {short(theirs)}"]


def compared(ours: Answer, theirs: Answer) -> list[str]:
    found = []
    if ours.status != theirs.status:
        found.append(f"status {ours.status} instead of {theirs.status}")
    if ours.content_type != theirs.content_type:
        found.append(f"content type {ours.content_type} instead of {theirs.content_type}")
    if ours.frames != theirs.frames:
        found.append(f"{ours.frames} instead of {theirs.frames}")
    shapes = differences(ours.shape()["body"], theirs.shape()["body"]) if ours.status == theirs.status else []
    return found + shapes + value_differences(ours.values, theirs.values)


@contextlib.contextmanager
def running(program: str, folder: pathlib.Path, name: str):
    flags = [*FLAGS, "--slot-save-path", str(folder)]
    server = Server([program, "-m", tiny_path(), *flags], folder / f"{name}.log")
    try:
        yield server.wait_ready()
        server.end()
    finally:
        server.kill()


def record(folder: pathlib.Path) -> None:
    with running(peer_binary(), folder, "peer") as peer:
        shapes = {case.name: ask(peer, case).shape() for case in all_cases()}
    GOLDEN.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(shape)}" for name, shape in shapes.items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(shapes)} shapes in {GOLDEN}")


def compare(folder: pathlib.Path, only: str) -> None:
    with running(peer_binary(), folder, "peer") as peer, running(binary(), folder, "kvalet") as kvalet:
        for case in all_cases():
            if only not in case.name:
                continue
            ours, theirs = ask(kvalet, case), ask(peer, case)
            lines = compared(ours, theirs)
            print(f"{'differs' if lines else 'same':8}{case.name}")
            for line in lines:
                print(f"          {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.record:
            record(pathlib.Path(folder))
        else:
            compare(pathlib.Path(folder), options.only)


if __name__ == "__main__":
    main()
