"""One HTTP exchange, without a library that retries, pools or hides headers."""

import http.client
import json
import socket

# Far above what any single exchange of a test takes: a server that hangs fails the test instead of the run.
TIMEOUT_S = 240


class Reply:
    def __init__(self, status: int, headers: dict[str, str], body: bytes):
        self.status = status
        self.headers = headers  # names in lower case
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    @property
    def error(self) -> dict:
        """The error object; its `code` must be the status."""
        error = self.json()["error"]
        assert error["code"] == self.status, (error, self.status)
        assert isinstance(error["message"], str) and error["message"], error
        return error

    def __repr__(self) -> str:
        return f"<Reply {self.status} {self.body[:300]!r}>"


def encoded(body) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()


def request(port: int, method: str, path: str, body=None, headers=None, timeout_s: float = TIMEOUT_S) -> Reply:
    """`body`: bytes as they are, anything else as JSON."""
    data = encoded(body)
    all_headers = {"Content-Type": "application/json"} if data is not None else {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, data, all_headers | (headers or {}))
        reply = connection.getresponse()
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def connect(port: int, timeout_s: float = TIMEOUT_S) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=timeout_s)


def raw_exchange(port: int, sent: bytes, timeout_s: float = TIMEOUT_S) -> bytes:
    """Sends these bytes and returns all that comes until the server closes."""
    with connect(port, timeout_s) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


def post_bytes(path: str, body, close: bool = False) -> bytes:
    """A POST as it goes over the wire, for a plain socket. `close`: the server closes after its reply."""
    data = encoded(body)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return (head + ("Connection: close\r\n" if close else "") + "\r\n").encode() + data


def status_of(received: bytes) -> int:
    """The status of the first reply among these bytes."""
    line = received.split(b"\r\n", 1)[0]
    assert line.startswith(b"HTTP/1."), received[:200]
    return int(line.split()[1])
