"""The end of a server whose clients do not read: a drain waits for them, a second signal does not."""

import json
import re
import socket
import subprocess

import pytest

from harness import fake_binary, post_bytes
from harness.server import clean_environment

pytestmark = pytest.mark.fake

PATIENCE_S = 60
LONG = ("-c", 60000, "-np", 2, "-kvu")


class UnreadStream:
    """A stream whose events are not read: the server cannot finish it before somebody does."""

    def __init__(self, server, n_predict):
        self.link = socket.socket()
        self.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.link.settimeout(PATIENCE_S)
        self.link.connect(("127.0.0.1", server.port))
        body = {"prompt": "abc", "n_predict": n_predict, "stream": True, "ignore_eos": True, "n_probs": 20}
        self.link.sendall(post_bytes("/completion", body, close=True))
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.link.recv(1)
        assert head.startswith(b"HTTP/1.1 200")

    def read(self):
        """The events up to the end of the connection, and whether the body was complete."""
        raw = read_to_end(self.link)
        text = re.sub(rb"\r\n[0-9a-fA-F]+\r\n", b"", b"\r\n" + raw)
        events = [json.loads(line[6:]) for line in text.split(b"\n") if line.startswith(b"data: {")]
        return events, raw.endswith(b"\r\n0\r\n\r\n")


def read_to_end(link):
    pieces = []
    while True:
        try:
            piece = link.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)


def test_a_drain_waits_for_a_client_that_reads_late(servers):
    server = servers.fake(*LONG)
    stream = UnreadStream(server, 20000)
    server.signal()
    server.wait_until(lambda: server.health() == 503, "503 on /health")
    events, complete = stream.read()
    assert complete
    assert events[-1]["stop"] is True
    assert events[-1]["tokens_predicted"] == 20000
    assert server.wait_exit() == 0


def test_a_second_signal_ends_every_stream_with_an_error_event(servers):
    server = servers.fake(*LONG)
    streams = [UnreadStream(server, 20000) for _ in range(2)]
    server.signal()
    server.wait_until(lambda: server.health() == 503, "503 on /health")
    server.signal()
    server.wait_until(lambda: "ending now" in server.log(), "the second signal")
    for events, complete in [stream.read() for stream in streams]:
        assert complete
        assert events[-1]["error"]["type"] == "unavailable_error"
        assert not any(event.get("stop") for event in events)
    assert server.wait_exit() == 1
    servers.forget(server)


def test_a_second_signal_does_not_wait_for_a_client_that_does_not_read(servers):
    server = servers.fake(*LONG)
    stream = UnreadStream(server, 20000)
    server.signal()
    server.wait_until(lambda: server.health() == 503, "503 on /health")
    server.signal()
    assert server.wait_exit() == 1
    servers.forget(server)
    stream.link.close()


def test_commands_that_need_no_server():
    def run(*args):
        return subprocess.run([fake_binary(), *args], capture_output=True, text=True, timeout=PATIENCE_S,
                              env=clean_environment(None), check=False)

    done = run("flags")
    assert done.returncode == 0
    assert done.stdout.startswith("# Flags")
    for name in ("simulate", "check-exact"):
        done = run(name)
        assert (done.returncode, done.stderr) == (1, f"kvalet: {name} is not there yet\n")
    done = run("-m", "x", "--log-file", "/")
    assert (done.returncode, done.stderr) == (1, "kvalet: --log-file: cannot write /\n")
