"""What the tests from outside and the benchmarks share: a server process, its clients, and readers of what it says."""

from harness.client import Reply, post_bytes, request
from harness.crowd import open_parked
from harness.metrics import Metrics
from harness.prompts import numbers_prompt, prompt_tokens
from harness.server import Server, binary, deps_path, fake_binary, gemma_path, model_path, peer_binary, tiny_path
from harness.sse import Stream

__all__ = [
    "Metrics",
    "Reply",
    "Server",
    "Stream",
    "binary",
    "deps_path",
    "fake_binary",
    "gemma_path",
    "model_path",
    "numbers_prompt",
    "open_parked",
    "peer_binary",
    "post_bytes",
    "prompt_tokens",
    "request",
    "tiny_path",
]
