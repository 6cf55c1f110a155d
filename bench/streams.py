#!/usr/bin/env python3
"""What streams cost that wait, are parked or are not read.

    bench/streams.py [--rounds 6] [--dry]
"""

import argparse
import pathlib
import statistics
import tempfile
import threading
import time

import measure
import report

from harness import Server, binary, model_path, open_parked, post_bytes

N_STREAMS = 1000
N_PREDICT = 250
PARKED_S = 12
SMALL = ["-c", "32768", "--parallel", "2", "--kv-unified", "--metrics"]
ROOMY = ["-c", "8192", "--parallel", "4", "--kv-unified", "--metrics"]


# ---- a client that reads a byte a second


class ByteASecond:
    """A chat with fields enough to fill every buffer soon; read by a thread, one byte a second."""

    def __init__(self, asked: Server):
        self.socket = measure.connect(asked.port, measure.LONG_S)
        self.socket.sendall(post_bytes("/completion", measure.body(100, 3000, 50, id_slot=3, n_probs=50, stream=True)))
        self.closing = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.wait_until_it_stands_still(asked)

    def read(self) -> None:
        while not self.closing.wait(1):
            self.socket.recv(1)

    @staticmethod
    def wait_until_it_stands_still(asked: Server) -> None:
        n, same = -1, 0
        while same < 4:
            time.sleep(0.5)
            now = asked.slots()[3]["next_token"][0]["n_decoded"]
            n, same = now, same + 1 if now == n else 0

    def close(self) -> None:
        self.closing.set()
        self.reader.join()
        self.socket.close()


def slow_reader(folder: pathlib.Path, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"ratio": [], "mib": []}
    with measure.ours(folder / "slow.log", ROOMY) as asked:
        for number in range(rounds):
            rates = {}
            for slow in (False, True) if number % 2 == 0 else (True, False):
                before = asked.process_figures()["rss_mib"]
                reader = ByteASecond(asked) if slow else None
                rates[slow] = measure.together(asked, 3, N_PREDICT, 10 * number)
                if reader:
                    found["mib"].append(asked.process_figures()["rss_mib"] - before)
                    reader.close()
                    asked.wait_until(lambda: asked.requests()["data"] == [], "its end")
            found["ratio"].append(rates[True] / rates[False])
    return found


# ---- a crowd


def crowd(folder: pathlib.Path, kind: str) -> dict[str, float]:
    """Memory and threads of so many streams, and how soon all is free when they leave in one go."""
    preset = ["--preempt-preset", kind] if kind in ("swap", "recompute") else []
    with measure.ours(folder / f"{kind}.log", [*SMALL, *preset]) as asked:
        quiet = asked.process_figures()
        holders = []
        if kind == "waiting":
            holders = [measure.open_stream(asked, measure.body(20, 15000, i)).wait_tokens(1) for i in (1, 2)]
            sockets = measure.IdleStreams(asked, N_STREAMS, slot=1).sockets
            asked.wait_until(lambda: asked.metrics()["requests_deferred"] == N_STREAMS, "all of them")
            time.sleep(2 * 2.5)  # headers and keepalives of all
        else:
            sockets = open_parked(asked, measure.body(20, 500, 7), N_STREAMS)
        busy = asked.process_figures()
        held_mib = asked.metrics()["preempt_ram_bytes"] / 2**20
        begin = time.monotonic()
        for connection in sockets:
            connection.close()
        asked.wait_until(lambda: asked.requests()["n_waiting"] + asked.requests()["n_parked"] == 0, "their end")
        seconds = time.monotonic() - begin
        for holder in holders:
            holder.abort()
        return {
            "mib": busy["rss_mib"] - quiet["rss_mib"] - held_mib,
            "held_mib": held_mib,
            "threads": busy["threads"] - quiet["threads"],
            "free_s": seconds,
        }


def keepalive_gaps(folder: pathlib.Path) -> list[float]:
    """Between the lines of a stream that is parked while seven others run."""
    with measure.ours(folder / "keepalive.log", ["-c", "24576", "--parallel", "8", "--kv-unified", "--metrics"]) as asked:
        stream = measure.open_stream(asked, measure.body(100, 50, 1)).wait_tokens(3)
        others = [measure.open_stream(asked, measure.body(100, 2800, seed)).wait_tokens(1) for seed in range(2, 9)]
        name = stream.headers["x-request-id"]
        assert asked.post(f"/requests/{name}/park").status == 200
        stream.wait_comment("preempt-keepalive", PARKED_S // 2, measure.LONG_S)
        assert asked.post(f"/requests/{name}/unpark").status == 200
        assert not any(other.ended for other in others)
        measure.ended(stream).final()
        for other in others:
            other.abort()
        at = [line.at for line in stream.lines if line.text.startswith(": pre")]
        return [b - a for a, b in zip(at, at[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--dry", action="store_true", help="print the tables, do not write docs/benchmarks.md")
    options = parser.parse_args()
    warning = report.load_warning()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        slow = slow_reader(folder, options.rounds)
        print("three chats beside one that reads a byte a second / without it:", [round(r, 3) for r in slow["ratio"]], flush=True)
        gaps = keepalive_gaps(folder)
        print("gaps of a parked stream, s:", [round(gap, 3) for gap in gaps], flush=True)
        crowds = {kind: crowd(folder, kind) for kind in ("waiting", "recompute", "swap")}
        print(crowds, flush=True)

    def spread(values: list[float]) -> list[str]:
        return [f"{statistics.median(values):.3f}", f"{min(values):.3f} to {max(values):.3f}"]

    ratios = report.table(
        ["ratio of neighbours in time", "median", "all"],
        [
            [f"three chats, tokens/s: beside a fourth that reads a byte a second / without it ({len(slow['ratio'])} pairs)", *spread(slow["ratio"])],
        ],
    )
    labels = {"waiting": "wait for a slot", "recompute": "are parked, dropped", "swap": "are parked, swapped"}
    many = report.table(
        [f"{N_STREAMS} streams that", "memory, MiB", "parked bytes besides, MiB", "more threads", "all free after they left in one go, s"],
        [[labels[k], f"{c['mib']:.1f}", f"{c['held_mib']:.1f}", f"{c['threads']:.0f}", f"{c['free_s']:.2f}"] for k, c in crowds.items()],
    )
    sentences = [
        f"A stream that was parked for {PARKED_S} s while seven others ran: gaps between its lines {min(gaps):.2f} to {max(gaps):.2f} s.",
        f"Memory for the stream that is read a byte a second: {max(slow['mib']):.1f} MiB at most.",
    ]
    facts = [f"Kvalet {report.version_of(binary())}; model {pathlib.Path(model_path()).name}.", *([warning] if warning else [])]
    text = report.context(facts) + "\n" + ratios + "\n" + many + "\n" + "\n".join(sentences)
    print("\n" + text)
    if not options.dry:
        report.write_section("streams", "Streams that wait, are parked, or are not read", text)


if __name__ == "__main__":
    main()
