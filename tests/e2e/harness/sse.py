"""A stream as it comes over the wire: every chunk and every line with its time, comments included."""

import dataclasses
import json
import socket
import threading
import time

from harness.client import TIMEOUT_S, connect, encoded


@dataclasses.dataclass
class Line:
    at: float  # time.monotonic()
    text: str


class Stream:
    """A request whose reply is read by a thread of its own. wait() blocks until something has come."""

    def __init__(self, port: int, path: str, body, headers=None, timeout_s: float = TIMEOUT_S):
        self.path = path
        self.status: int | None = None
        self.headers: dict[str, str] = {}  # names in lower case
        self.headers_at: float | None = None
        self.lines: list[Line] = []
        self.chunks: list[bytes] = []
        self.body = b""
        self.clean = False  # the body came to its proper end
        self.failure: Exception | None = None
        self.ended = False
        self.changed = threading.Condition()
        self.socket = connect(port, timeout_s)
        data = encoded(body)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self.sent_at = time.monotonic()
        self.socket.sendall(head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    # ---- the reader's thread

    def _run(self) -> None:
        try:
            with self.socket.makefile("rb") as source:
                self._read_head(source)
                self._read_body(source)
        except Exception as failure:  # noqa: BLE001  whatever it is, the test shall see it
            self.failure = failure
        finally:
            with self.changed:
                self.ended = True
                self.changed.notify_all()

    def _read_head(self, source) -> None:
        status = source.readline()
        if not status:
            raise ConnectionError("closed before the status line")
        headers = {}
        while (line := source.readline()) not in (b"\r\n", b""):
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.strip().lower()] = value.strip()
        with self.changed:
            self.status = int(status.split()[1])
            self.headers = headers
            self.headers_at = time.monotonic()
            self.changed.notify_all()

    def _read_body(self, source) -> None:
        if self.headers.get("transfer-encoding") != "chunked":
            data = source.read(int(self.headers["content-length"])) if "content-length" in self.headers else source.read()
            self._take(data, b"")
            self.clean = True
            return
        rest = b""
        while size := int(source.readline().split(b";")[0], 16):  # ValueError: the connection was cut
            data = source.read(size)
            if source.read(2) != b"\r\n":
                raise ConnectionError("a chunk without its end")
            self.chunks.append(data)
            rest = self._take(data, rest)
        if source.readline() != b"\r\n":
            raise ConnectionError("no end of the last chunk")
        self.clean = True

    def _take(self, data: bytes, rest: bytes) -> bytes:
        """Keeps the whole lines; returns the beginning of the next one."""
        now = time.monotonic()
        *whole, rest = (rest + data).split(b"\n")
        with self.changed:
            self.body += data
            self.lines += [Line(now, line.decode()) for line in whole]
            self.changed.notify_all()
        return rest

    # ---- the test's side

    def wait(self, condition, what: str, timeout_s: float = TIMEOUT_S) -> "Stream":
        """Until condition(self) holds; a stream that ends before is a failure."""
        with self.changed:
            self.changed.wait_for(lambda: condition(self) or self.ended, timeout_s)
            assert condition(self), f"{what} did not come (ended: {self.ended}, failure: {self.failure}): {self.tail()}"
        return self

    def wait_headers(self) -> "Stream":
        return self.wait(lambda s: s.status is not None, "the status")

    def wait_tokens(self, n: int) -> "Stream":
        return self.wait(lambda s: s.n_tokens() >= n, f"token {n}")

    def wait_comment(self, word: str, n: int = 1, timeout_s: float = TIMEOUT_S) -> "Stream":
        return self.wait(lambda s: s.comment_words().count(word) >= n, f"comment '{word}' number {n}", timeout_s)

    def wait_end(self, timeout_s: float = TIMEOUT_S) -> "Stream":
        with self.changed:
            assert self.changed.wait_for(lambda: self.ended, timeout_s), f"the stream did not end: {self.tail()}"
        self.socket.close()
        return self

    def abort(self) -> None:
        """Goes away, as a client that is closed does."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the server was faster
        self.thread.join(TIMEOUT_S)
        self.socket.close()

    def tail(self) -> list[str]:
        return [line.text[:300] for line in self.lines[-6:]]

    def data(self) -> list[str]:
        return [line.text[len("data: ") :] for line in list(self.lines) if line.text.startswith("data: ")]

    def events(self) -> list[dict]:
        return [json.loads(data) for data in self.data() if data != "[DONE]"]

    def comments(self) -> list[str]:
        return [line.text[1:].strip() for line in list(self.lines) if line.text.startswith(":")]

    def comment_words(self) -> list[str]:
        return [comment.split(" ")[0] for comment in self.comments()]

    def token_times(self) -> list[float]:
        """When each token came; exact for the native dialect, which has one event per token."""
        return [line.at for line in list(self.lines) if line.text.startswith("data: ") and '"stop":false' in line.text]

    def n_tokens(self) -> int:
        """Events with text, or with a token on the native dialect."""
        if "chat" in self.path:
            return sum('"delta":{"content":"' in line.text for line in list(self.lines))
        if self.path.startswith("/v1"):
            return sum('"finish_reason":null' in line.text for line in list(self.lines))
        return len(self.token_times())

    def text(self) -> str:
        return "".join(content_of(event) for event in self.events())

    def tokens(self) -> list[int]:
        """Token ids, on the native dialect."""
        return [token for event in self.events() if not event.get("stop") for token in event["tokens"]]

    def error(self) -> dict | None:
        errors = [event["error"] for event in self.events() if "error" in event]
        return errors[0] if errors else None

    def final(self) -> dict:
        """The event that ends the generation, of a stream that came to its proper end (F18): the native one with
        `stop`, or the last chunk of OpenAI's."""
        self.wait_end()
        assert self.failure is None and self.clean, f"{self.failure}: {self.tail()}"
        assert self.status == 200, (self.status, self.body[:300])
        assert self.error() is None, self.error()
        events = self.events()
        if "stop" in events[-1]:
            assert events[-1]["stop"] is True
            return events[-1]
        assert self.data()[-1] == "[DONE]"
        ends = [event for event in events if event["choices"] and event["choices"][0]["finish_reason"]]
        assert len(ends) == 1, "a stream ends once"
        return events[-1]

    def said(self) -> list[str]:
        """The data events of a stream that came to its end, without what differs from run to run."""
        self.final()
        events = self.events()
        for event in events:
            for volatile in ("id", "created", "timings", "id_slot"):
                event.pop(volatile, None)
        return [json.dumps(event) for event in events]

    def finish_reason(self) -> str:
        self.final()
        reasons = [c["finish_reason"] for e in self.events() for c in e["choices"] if c["finish_reason"]]
        return reasons[0]

    def data_bytes(self) -> bytes:
        """The stream without its comments: what P8.1 calls the body."""
        kept = [frame for frame in self.body.split(b"\n\n") if not frame.startswith(b":")]
        return b"\n\n".join(kept)


def content_of(event: dict) -> str:
    if "choices" not in event:
        return event.get("content") or ""
    if not event["choices"]:
        return ""
    choice = event["choices"][0]
    return choice["text"] if "text" in choice else choice["delta"].get("content") or ""
