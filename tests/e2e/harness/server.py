"""A server as a process: started on a free port of 127.0.0.1, waited for, asked, ended by its own process id."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from harness.client import Reply, connect, raw_exchange, request
from harness.metrics import Metrics
from harness.sse import Stream

REPO = pathlib.Path(__file__).parents[3]
READY_S = 120
END_S = 60


def deps_path(thing: str) -> str:
    return subprocess.run(
        [REPO / "scripts/deps.sh", "path", thing], capture_output=True, text=True, check=True
    ).stdout.strip()


def binary() -> str:
    return os.environ.get("KVALET_BIN") or str(REPO / "build/kvalet")


def fake_binary() -> str:
    return str(pathlib.Path(binary()).with_name("kvalet-fake-server"))


def peer_binary() -> str:
    """llama-server; it may not be there (make peer)."""
    return str(pathlib.Path(deps_path("peer")) / "llama-server")


def model_path() -> str:
    return os.environ.get("KVALET_TEST_MODEL") or deps_path("model")


def tiny_path(name: str = "tiny-llama") -> str:
    folder = os.environ.get("KVALET_TEST_TINY_DIR") or deps_path("tiny-models")
    return str(pathlib.Path(folder) / f"{name}.gguf")


def gemma_path() -> str:
    """Gemma 3 270M; it may not be there (make gemma-model)."""
    return os.environ.get("KVALET_TEST_GEMMA") or deps_path("gemma")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def clean_environment(extra: dict[str, str] | None) -> dict[str, str]:
    """The environment without variables that are flags of the server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LLAMA_", "KVALET_FAKE"))}
    return kept | (extra or {})


def wait_until(process: subprocess.Popen, log, condition, what: str, timeout_s: float = READY_S) -> None:
    """Polls, for states that nobody announces; `log()` is what the process has said."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert process.poll() is None, f"{process.args[0]} ended with {process.returncode}:\n{log()[-3000:]}"
        assert time.monotonic() < deadline, f"{what} did not come about:\n{log()[-3000:]}"
        time.sleep(0.005)


class Server:
    def __init__(self, command: list[str], log: pathlib.Path, env: dict[str, str] | None = None, prefix: str = ""):
        self.port = free_port()
        self.prefix = prefix
        self.log_path = log
        self.env = clean_environment(env)
        self.command = [str(part) for part in command] + ["--port", str(self.port)]
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, env=self.env
            )

    # ---- life

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def wait_until(self, condition, what: str, timeout_s: float = READY_S) -> None:
        wait_until(self.process, self.log, condition, what, timeout_s)

    def health(self) -> int | None:
        """The status of /health, or None while nobody listens."""
        with contextlib.suppress(OSError):
            return self.get("/health", timeout_s=10).status
        return None

    def wait_ready(self) -> "Server":
        self.wait_until(lambda: self.health() == 200, "/health 200")
        return self

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait_exit(self, timeout_s: float = END_S) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server did not end in {timeout_s} s:\n{self.log()[-3000:]}") from None

    def end(self) -> int:
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.signal()
        return self.wait_exit()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def process_figures(self) -> dict[str, float]:
        """Resident memory in MiB and threads, as the kernel says."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()

        def field(name: str) -> int:
            return int(re.search(rf"^{name}:\s*(\d+)", status, re.MULTILINE).group(1))

        return {"rss_mib": field("VmRSS") / 1024, "threads": field("Threads")}

    # ---- questions

    def request(self, method: str, path: str, body=None, headers=None, **options) -> Reply:
        return request(self.port, method, self.prefix + path, body, headers, **options)

    def get(self, path: str, headers=None, **options) -> Reply:
        return self.request("GET", path, None, headers, **options)

    def post(self, path: str, body=None, headers=None, **options) -> Reply:
        return self.request("POST", path, {} if body is None else body, headers, **options)

    def ok(self, path: str, body) -> dict:
        reply = self.post(path, body)
        assert reply.status == 200, reply
        return reply.json()

    def stream(self, path: str, body: dict, headers=None, **options) -> Stream:
        return Stream(self.port, self.prefix + path, body | {"stream": True}, headers, **options)

    def raw(self, sent: bytes, timeout_s: float = 60) -> bytes:
        return raw_exchange(self.port, sent, timeout_s)

    def connect(self, timeout_s: float = 60) -> socket.socket:
        return connect(self.port, timeout_s)

    def metrics(self) -> Metrics:
        reply = self.get("/metrics")
        assert reply.status == 200, reply
        return Metrics(reply.text)

    def slots(self) -> list[dict]:
        return self.get("/slots").json()

    def nothing_left(self) -> bool:
        """No request, no slot in use, no byte parked; needs --metrics."""
        metrics = self.metrics()
        return (
            self.requests()["data"] == []
            and not any(slot["is_processing"] for slot in self.slots())
            and metrics["preempt_ram_bytes"] == metrics["requests_preempted"] == metrics["requests_processing"] == 0
        )

    def requests(self) -> dict:
        return self.get("/requests").json()

    # ---- many at once

    def streams(self, path: str, bodies: list[dict]) -> list[Stream]:
        """All of them at once, each read to its end."""
        opened = [self.stream(path, body) for body in bodies]
        return [stream.wait_end() for stream in opened]

    def posts(self, path: str, bodies: list[dict]) -> list[Reply]:
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(lambda body: self.post(path, body), bodies))
