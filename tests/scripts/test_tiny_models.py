"""The tiny models come out the same, byte for byte, each time they are made."""

import hashlib
import os
import pathlib
import subprocess
import sys

REPO = pathlib.Path(__file__).parents[2]


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.gguf")}


def test_same_bytes_each_time(tmp_path):
    cached = digests(pathlib.Path(os.environ["KVALET_TEST_TINY_DIR"]))
    assert {"tiny-llama.gguf", "tiny-swa.gguf", "tiny-mamba.gguf", "tiny-hybrid.gguf"} <= set(cached)
    subprocess.run(
        [
            sys.executable,
            REPO / "scripts" / "make_tiny_models.py",
            "--vocabulary-of",
            os.environ["KVALET_TEST_MODEL"],
            "--into",
            tmp_path,
        ],
        check=True,
    )
    assert digests(tmp_path) == cached
