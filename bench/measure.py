"""What is measured of a server, from outside: each function takes a running Server and returns plain numbers."""

import contextlib
import http.client
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "e2e"))

from harness import Server, Stream, binary, model_path, post_bytes, prompt_tokens  # noqa: E402
from harness.client import connect  # noqa: E402

GREEDY = {"temperature": 0, "ignore_eos": True, "cache_prompt": False}
LONG_S = 600
ANSWER_S = 5  # a question that is not answered by then counts as not answered


@contextlib.contextmanager
def ours(log: pathlib.Path, flags: list[str]):
    """Kvalet on the default model, warm."""
    server = Server([binary(), "-m", model_path(), *flags], log)
    try:
        server.wait_ready()
        alone(server, 50, 90)
        yield server
    finally:
        server.kill()


def body(n_prompt: int, n_predict: int, seed: int, **more) -> dict:
    return GREEDY | {"prompt": prompt_tokens(n_prompt, seed), "n_predict": n_predict} | more


def open_stream(server: Server, fields: dict) -> Stream:
    return server.stream("/completion", fields, timeout_s=LONG_S)


def ended(stream: Stream) -> Stream:
    stream.wait_end(LONG_S)
    return stream


def rate(times: list[float]) -> float:
    """Tokens per second over the steps between these arrivals."""
    return (len(times) - 1) / (times[-1] - times[0])


def erase(server: Server) -> None:
    """Empties every slot: nobody's cache of an earlier prompt lies in the pool."""
    for slot in range(len(server.slots())):
        assert server.post(f"/slots/{slot}?action=erase").status == 200


def alone(server: Server, n_predict: int, seed: int, **more) -> float:
    """Tokens per second of one chat."""
    return rate(ended(open_stream(server, body(100, n_predict, seed, **more))).token_times())


def beside_idle(server: Server, n_predict: int, seed: int) -> float:
    """Tokens per second of one chat while three slots keep the prompts of earlier ones."""
    for slot in (1, 2, 3):
        ended(open_stream(server, body(1000, 1, seed + slot, id_slot=slot)))
    return alone(server, n_predict, seed, id_slot=0)


def together(server: Server, n_chats: int, n_predict: int, seed: int) -> float:
    """Tokens per second of all chats, while all of them generate."""
    streams = [open_stream(server, body(100, n_predict, seed + i)) for i in range(n_chats)]
    times = [ended(stream).token_times() for stream in streams]
    begin, end = max(t[0] for t in times), min(t[-1] for t in times)
    n = sum(begin < at <= end for t in times for at in t)
    return n / (end - begin)


def first_token_ms(server: Server, n_prompt: int, seed: int) -> float:
    """From the request to the first token, on an idle server."""
    stream = ended(open_stream(server, body(n_prompt, 2, seed)))
    return (stream.token_times()[0] - stream.sent_at) * 1000


def standstill(server: Server, n_prompt: int, n_others: int, seed: int) -> dict[str, float]:
    """One chat generates when others come with long prompts: the longest gap between its tokens until all of them have
    their first token, and when that is."""
    chat = open_stream(server, body(50, 2000, seed)).wait_tokens(40)
    arrival = time.monotonic()
    others = [open_stream(server, body(n_prompt, 2, seed + 1 + i)) for i in range(n_others)]
    firsts = [ended(other).token_times()[0] for other in others]
    chat.wait(lambda s: s.token_times()[-1] > max(firsts), "a token after the prompts", LONG_S)
    chat.abort()
    times = [at for at in chat.token_times() if at <= max(firsts)] + [
        next(at for at in chat.token_times() if at > max(firsts))
    ]
    before = [at for at in times if at < arrival]
    during = [before[-1]] + [at for at in times if at >= arrival]
    return {
        "longest_gap_ms": max(b - a for a, b in zip(during, during[1:])) * 1000,
        "usual_gap_ms": statistics.median(b - a for a, b in zip(before, before[1:])) * 1000,
        "tokens_meanwhile": sum(arrival <= at <= max(firsts) for at in times),
        "last_first_token_ms": (max(firsts) - arrival) * 1000,
    }


def overflow(server: Server, n_chats: int, n_prompt: int, n_predict: int, seed: int) -> dict[str, float]:
    """Chats that do not fit together: how many came to their end, and tokens per second of all until the last."""
    begin = time.monotonic()
    streams = [open_stream(server, body(n_prompt, n_predict, seed + i)) for i in range(n_chats)]
    for stream in streams:
        ended(stream)
    seconds = time.monotonic() - begin
    whole = [s for s in streams if s.clean and not s.error() and s.events()[-1].get("tokens_predicted") == n_predict]
    return {"whole": len(whole), "tokens_per_s": sum(s.n_tokens() for s in whole) / seconds, "seconds": seconds}


# ---- memory and latency


class IdleStreams:
    """Streams that are open and wait for a slot that somebody holds. Nobody reads them: nothing is said."""

    def __init__(self, server: Server, n: int, slot: int):
        request = post_bytes("/completion", body(20, 5, 7, id_slot=slot, stream=True))
        self.sockets = []
        for _ in range(n):
            connection = connect(server.port, LONG_S)
            connection.sendall(request)
            self.sockets.append(connection)

    def close(self) -> None:
        for connection in self.sockets:
            connection.close()


def ask(port: int, path: str, timeout_s: float) -> float:
    """Milliseconds until the whole answer is there; infinite when it did not come in time."""
    begin = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        reply.read()
        if reply.status != 200:
            return float("inf")
    except OSError:
        return float("inf")
    finally:
        connection.close()
    return (time.perf_counter() - begin) * 1000


def latencies(server: Server, paths: list[str], n_prompt: int, seed: int, slot: int) -> dict[str, list[float]]:
    """Asks in turn, each time over a new connection, for as long as a long prompt is being processed, or is not even
    begun, but a minute at most."""
    found: dict[str, list[float]] = {path: [] for path in paths}
    stream = open_stream(server, body(n_prompt, 1, seed, id_slot=slot))
    deadline = time.monotonic() + 60
    while not stream.ended and time.monotonic() < deadline:
        for path in paths:
            found[path].append(ask(server.port, path, ANSWER_S))
        time.sleep(0.002)
    stream.abort()
    return found


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
