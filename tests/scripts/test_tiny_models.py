"""The tiny models come out the same, byte for byte, each time they are made."""

import hashlib
import pathlib
import subprocess
import sys

REPO = pathlib.Path(__file__).parents[2]


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.gguf")}


def path_of(thing):
    run = subprocess.run([REPO / "scripts" / "deps.sh", "path", thing], capture_output=True, text=True, check=True)
    return pathlib.Path(run.stdout.strip())


def test_same_bytes_each_time(tmp_path):
    cached = digests(path_of("tiny-models"))
    assert {"tiny-llama.gguf", "tiny-swa.gguf", "tiny-mamba.gguf", "tiny-hybrid.gguf"} <= set(cached)
    subprocess.run(
        [
            sys.executable,
            REPO / "scripts" / "make_tiny_models.py",
            "--vocabulary-of",
            path_of("model"),
            "--into",
            tmp_path,
        ],
        check=True,
    )
    assert digests(tmp_path) == cached
