"""How a server starts, refuses to start, drains and ends; on the fake backend."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

pytestmark = pytest.mark.fake

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("KVALET_BIN", REPO / "build" / "kvalet")).parent
FAKE = BUILD / "kvalet-fake-server"
PATIENCE_S = 60  # a guard against hanging, nothing is measured by it


class Server:
    """A kvalet-fake-server on a free port, its log read line by line."""

    def __init__(self, *args, wait="server is listening on", **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_")}
        self.process = subprocess.Popen(
            [FAKE, "-m", "fake.gguf", "--port", "0", *args],
            env={**clean, "HOME": "/nonexistent", **env}, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.lines = []
        self.port = int(re.search(r"http://\S+:(\d+)", self.wait_for(wait)).group(1))

    def wait_for(self, text):
        for line in self.process.stderr:
            self.lines.append(line)
            if text in line:
                return line
        raise AssertionError("the server ended: " + "".join(self.lines))

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()

    def wait_until(self, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "what was waited for did not happen"
            time.sleep(0.005)

    def stream(self, n_predict):
        """A stream whose events are not read: the server cannot finish it before somebody does."""
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(PATIENCE_S)
        link.connect(("127.0.0.1", self.port))
        body = json.dumps({"prompt": "abc", "n_predict": n_predict, "stream": True, "ignore_eos": True,
                           "n_probs": 20})
        link.sendall((f"POST /completion HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += link.recv(1)
        assert head.startswith(b"HTTP/1.1 200")
        return link

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end(self):
        """The exit code, and what was logged meanwhile."""
        _, rest = self.process.communicate(timeout=PATIENCE_S)
        self.lines.append(rest)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def read_events(link):
    """Everything up to the end of the connection: the JSON of the events, and whether the body was complete."""
    pieces = []
    while True:
        try:
            piece = link.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        pieces.append(piece)
    raw = b"".join(pieces)
    text = re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", b"\r\n" + raw)
    events = [json.loads(line[6:]) for line in text.split(b"\n") if line.startswith(b"data: {")]
    return events, raw.endswith(b"0\r\n\r\n")


def run(*args, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_")}
    return subprocess.run([FAKE, *args], env={**clean, "HOME": "/nonexistent", **env}, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def one_line_failure(done):
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


# ---- starts


def test_serves_until_sigterm_and_exits_with_0():
    with Server() as server:
        assert server.ask("GET", "/health") == (200, {"status": "ok"})
        server.signal()
        assert server.end() == 0


def test_sigint_ends_as_well():
    with Server() as server:
        server.signal(signal.SIGINT)
        assert server.end() == 0


def test_listens_before_the_model_is_loaded(tmp_path):
    flag = tmp_path / "loaded"
    with Server(wait="loading the model; listening on", KVALET_FAKE_LOAD=str(flag)) as server:
        status, body = server.ask("GET", "/health")
        assert status == 503
        assert body["error"] == {"message": "Loading model", "type": "unavailable_error", "code": 503}
        assert server.ask("POST", "/completion", {"prompt": "x"})[0] == 503
        flag.touch()
        server.wait_for("server is listening on")
        assert server.ask("GET", "/health")[0] == 200
        server.signal()
        assert server.end() == 0


def test_a_signal_while_loading_ends_at_once(tmp_path):
    with Server(wait="loading the model; listening on", KVALET_FAKE_LOAD=str(tmp_path / "never")) as server:
        server.signal()
        assert server.end() == 0


def test_a_subcommand_or_none_serves():
    with Server() as server:
        pass
    done = run("serve", "-m", "broken.gguf", "--port", "0")
    assert done.returncode == 1 and "cannot load" in done.stderr


def test_unix_socket(tmp_path):
    path = tmp_path / "k.sock"
    process = subprocess.Popen([FAKE, "-m", "x", "--host", str(path)], stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if "server is listening on" in line:
                assert str(path) in line
                break
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(PATIENCE_S)
            link.connect(str(path))
            link.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert link.recv(4096).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


# ---- refuses to start


def test_no_model():
    assert one_line_failure(run()) == "kvalet: --model (-m) is missing: the path of a GGUF file; --help lists all flags"


def test_model_that_cannot_be_loaded():
    line = one_line_failure(run("-m", "broken.gguf", "--port", "0", "-lv", "1"))
    assert line == "kvalet: --model: libllama cannot load 'broken.gguf'"


def test_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        line = one_line_failure(run("-m", "x", "--port", port))
        assert port in line and "in use" in line


@pytest.mark.parametrize("args, expected", [
    (["-np", "0"], "--parallel: expected a number of slots from 1 to 256, or -1 for auto, got '0'"),
    (["--lora", "x"], "--lora is known to llama-server but not available in Kvalet yet"),
    (["--frobnicate"], "unknown argument: '--frobnicate'; --help lists all flags"),
    (["--preempt-high", "10"], "--preempt-high: expected more than --preempt-low (80), got '10'"),
    (["--log-file", "/"], "--log-file: cannot write /"),
])
def test_bad_flags(args, expected):
    assert one_line_failure(run("-m", "x", *args)) == "kvalet: " + expected


def test_bad_variable():
    line = one_line_failure(run("-m", "x", LLAMA_ARG_CTX_SIZE="big"))
    assert line == "kvalet: LLAMA_ARG_CTX_SIZE: expected a whole number of at least 0, got 'big'"


def test_help_version_and_commands():
    done = run("--help")
    assert done.returncode == 0 and "Parking:" in done.stdout and done.stderr == ""
    done = run("--version")
    assert done.returncode == 0 and re.fullmatch(r"version: \d+\.\d+\.\d+ \(b\d+-\w+\)\n", done.stdout)
    done = run("flags")
    assert done.returncode == 0 and done.stdout == (REPO / "docs" / "flags.md").read_text(encoding="utf-8")
    assert one_line_failure(run("simulate")) == "kvalet: simulate is not there yet"
    assert "unknown command: 'frobnicate'" in one_line_failure(run("frobnicate"))


# ---- ends

LONG = ["-c", "60000", "-np", "2", "-kvu"]


def test_sigterm_drains():
    with Server(*LONG) as server:
        link = server.stream(20000)
        server.signal()
        server.wait_for("draining")
        status, body = server.ask("GET", "/health")
        assert status == 503 and body["error"]["type"] == "unavailable_error"
        assert server.ask("POST", "/completion", {"prompt": "x"})[0] == 503
        events, complete = read_events(link)
        assert complete
        assert events[-1]["stop"] is True
        assert events[-1]["tokens_predicted"] == 20000
        assert server.end() == 0


def test_drain_finishes_who_waits_and_who_is_parked():
    with Server("-c", "2048", "-np", "2", "-kvu", "--preempt-preset", "swap", "--metrics") as server:
        links = [server.stream(1500) for _ in range(2)]
        waiting = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        body = json.dumps({"prompt": "waits", "n_predict": 5, "ignore_eos": True})
        waiting.sendall(f"POST /completion HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        server.wait_until(lambda: "\nllamacpp:requests_deferred 1\n" in server.metrics())
        server.signal()
        server.wait_for("draining")
        for events, complete in map(read_events, links):
            assert complete and events[-1]["tokens_predicted"] == 1500
        reply = b""
        while some := waiting.recv(65536):
            reply += some
        assert reply.startswith(b"HTTP/1.1 200") and b'"tokens_predicted":5' in reply
        assert server.end() == 0


def test_a_second_signal_ends_every_stream_with_an_error_event():
    with Server(*LONG) as server:
        link = server.stream(20000)
        server.signal()
        server.wait_for("draining")
        server.signal()
        server.wait_for("ending now")
        events, complete = read_events(link)
        assert complete
        assert events[-1]["error"]["type"] == "unavailable_error"
        assert not any(event.get("stop") for event in events)
        assert server.end() == 1
