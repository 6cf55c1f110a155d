#!/usr/bin/env python3
"""Kvalet beside llama-server and the bare library, on the same model and flags, taking turns in one run.

    make bench                  the default: three rounds, writes its section of docs/benchmarks.md
    make bench ARGS="--rounds 5 --dry"

Needs llama-server, llama-bench and llama-batched-bench: `make peer` (built on the first run). Run it on a quiet machine.
Each round starts the servers anew and asks them in turn; the figures are medians, the ratios medians over neighbours in time.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure
import report

from harness import Server, binary, model_path, peer_binary
from harness.server import deps_path

THREADS = str(os.cpu_count())
ROOMY = ["-c", "8192", "--parallel", "4", "--kv-unified", "-t", THREADS]
TIGHT = ["-c", "2048", "--parallel", "4", "--kv-unified", "-t", THREADS]
QUEUE = ["-c", "2048", "--parallel", "2", "--kv-unified", "-t", THREADS]
CROWD = ["-c", "16384", "--parallel", "2", "--kv-unified", "--metrics", "-t", THREADS]
PATHS = ["/health", "/slots", "/metrics"]
N_IDLE = 1000
N_PREDICT = 250


class Run:
    """Values by name of server and figure."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.values: dict[tuple[str, str], list[float]] = {}

    def add(self, who: str, what: str, value: float) -> None:
        self.values.setdefault((who, what), []).append(value)
        print(f"  {who:14} {what:28} {value:10.2f}", flush=True)

    def median(self, who: str, what: str) -> float:
        return statistics.median(self.values.get((who, what), [math.nan]))

    def ratio(self, what: str) -> float:
        """The median of the ratios of what was measured one after the other."""
        pairs = zip(self.values.get(("kvalet", what), []), self.values.get(("llama-server", what), []))
        ratios = [ours / theirs for ours, theirs in pairs if theirs != 0 and math.isfinite(ours / theirs) and not math.isinf(theirs)]
        return statistics.median(ratios) if ratios else math.nan

    @contextlib.contextmanager
    def server(self, who: str, program: str, flags: list[str]):
        server = Server([program, "-m", model_path(), *flags], self.folder / f"{who}.log")
        try:
            yield server.wait_ready()
        finally:
            server.kill()


def measure_roomy(run: Run, servers: list[tuple[str, str]], seed: int) -> None:
    """Both are up, and are asked in turn: a machine whose speed drifts is the same to both."""
    flags = [*ROOMY, "--slot-save-path", str(run.folder)]
    with contextlib.ExitStack() as stack:
        up = [(who, stack.enter_context(run.server(who, program, flags))) for who, program in servers]
        for who, server in up:
            measure.alone(server, 50, seed + 90)  # warm
            run.add(who, "rss_loaded", server.process_figures()["rss_mib"])

        def in_turn(times: int, what, function, *arguments) -> None:
            for number in range(times):
                for who, server in up if number % 2 == 0 else reversed(up):
                    measure.erase(server)
                    found = function(server, *arguments, seed + 10 * number)
                    for name, value in found.items() if isinstance(found, dict) else [(what, found)]:
                        run.add(who, name, value)

        in_turn(4, "alone", measure.alone, N_PREDICT)
        in_turn(4, "four", measure.together, 4, N_PREDICT)
        in_turn(2, "beside_idle", measure.beside_idle, N_PREDICT)
        in_turn(2, "first_token_1000", measure.first_token_ms, 1000)
        in_turn(2, "", measure.standstill, 1500, 3)


def measure_tight(run: Run, who: str, program: str, seed: int) -> None:
    with run.server(who, program, TIGHT) as server:
        figures = measure.overflow(server, 4, 300, 700, seed + 30)
        run.add(who, "overflow_whole", figures["whole"])
        run.add(who, "overflow_rate", figures["tokens_per_s"])
        run.add(who, "overflow_rss", server.process_figures()["rss_mib"])


def measure_queue(run: Run, who: str, program: str, seed: int) -> None:
    """The same four chats where two wait until the others are done: nothing is ever overcommitted (F17)."""
    with run.server(who, program, QUEUE) as server:
        run.add(who, "queue_rate", measure.overflow(server, 4, 300, 700, seed + 30)["tokens_per_s"])


def measure_crowd(run: Run, who: str, program: str, seed: int) -> None:
    with run.server(who, program, CROWD) as server:
        quiet = server.process_figures()
        holder = measure.open_stream(server, measure.body(20, 16000, seed, id_slot=1)).wait_tokens(1)
        idle = measure.IdleStreams(server, N_IDLE, slot=1)
        try:
            busy = server.process_figures()
            run.add(who, "idle_rss", busy["rss_mib"] - quiet["rss_mib"])
            run.add(who, "idle_threads", busy["threads"])
            for path, values in measure.latencies(server, PATHS, 4000, seed + 40, slot=0).items():
                run.add(who, f"{path} p50", measure.quantile(values, 0.50))
                run.add(who, f"{path} p99", measure.quantile(values, 0.99))
                run.add(who, f"{path} asked", len(values))
        finally:
            idle.close()
            holder.abort()


def measure_library(run: Run, peer_dir: pathlib.Path) -> None:
    """The limit: the same steps without a server."""
    command = [peer_dir / "llama-batched-bench", "-m", model_path(), "-c", "8192", "-kvu", "-t", THREADS]
    command += ["-npp", "100", "-ntg", str(N_PREDICT), "-npl", "1,4", "--output-format", "jsonl"]
    for line in run_tool(command):
        run.add("library", "alone" if line["pl"] == 1 else "four", line["speed_tg"])
    command = [peer_dir / "llama-bench", "-m", model_path(), "-t", THREADS, "-p", "0", "-n", "128", "-r", "3", "-o", "jsonl"]
    for line in run_tool(command):
        run.add("library", "llama-bench tg128", line["avg_ts"])


def run_tool(command: list) -> list[dict]:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


# ---- the report

LOWER, HIGHER = "lower is better", "higher is better"
ROWS = [  # figure, label, unit, goal
    ("alone", "one chat", "tokens/s", HIGHER),
    ("four", "four chats, steady decode", "tokens/s", HIGHER),
    ("beside_idle", "one chat beside three idle slots that keep 1,000 tokens each", "tokens/s", HIGHER),
    ("first_token_1000", "first token of a 1,000-token prompt, idle server", "ms", LOWER),
    ("longest_gap_ms", "longest stand-still of a chat while three 1,500-token prompts come in", "ms", LOWER),
    ("usual_gap_ms", "its usual gap before", "ms", LOWER),
    ("tokens_meanwhile", "its tokens meanwhile", "", HIGHER),
    ("last_first_token_ms", "until all three have their first token", "ms", LOWER),
    ("overflow_whole", "four chats of 300 + 700 tokens in a pool of 2,048 that came to their end", "", HIGHER),
    ("overflow_rate", "their tokens/s until the last one's end", "tokens/s", HIGHER),
    ("queue_rate", "the same four, two at a time (nothing overcommitted)", "tokens/s", HIGHER),
    ("rss_loaded", "memory after the first request", "MiB", LOWER),
    ("overflow_rss", "memory after the four overflowing chats", "MiB", LOWER),
    ("idle_rss", "memory for 1,000 streams that wait", "MiB", LOWER),
    ("idle_threads", "threads with 1,000 streams that wait", "", LOWER),
] + [(f"{path} {q}", f"`{path}` {q}, 1,000 streams waiting, a 4,000-token prompt in work", "ms", LOWER) for path in PATHS for q in ("p50", "p99")]  # fmt: skip


def shown(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return f"no answer in {measure.ANSWER_S} s"
    return f"{value:.0f}" if value >= 100 or (value == int(value) and value != 1) else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def rows(run: Run) -> list[list[str]]:
    found = []
    for what, label, unit, goal in ROWS:
        ours, theirs, library = (run.median(who, what) for who in ("kvalet", "llama-server", "library"))
        if math.isnan(ours):
            continue  # not measured in this run
        found.append([f"{label}{f', {unit}' if unit else ''} ({goal.split()[0]})", shown(ours), shown(theirs), shown(library), shown(run.ratio(what))])
    return found


def text_of(run: Run, rounds: int, warning: str) -> str:
    peer = pathlib.Path(peer_binary())
    head = report.context(
        [
            f"Kvalet {report.version_of(binary())}; llama-server and the library's own benchmarks {report.version_of(str(peer))}.",
            f"Model: {pathlib.Path(model_path()).name}. Flags of both: `{' '.join(ROOMY)}` (in a pool of 2,048: `{' '.join(TIGHT)}`;",
            f"for the crowd: `{' '.join(CROWD)}`). Medians of {rounds} rounds in which the servers took turns; the ratio is the",
            "median of the ratios of neighbours in time.",
            "“library” is llama-batched-bench with the same number of sequences, without any server.",
            *([warning] if warning else []),
        ]
    )
    return head + "\n" + report.table(["", "Kvalet", "llama-server", "library", "Kvalet / llama-server"], rows(run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="of roomy, tight, queue, crowd, library: those with this in their name")
    parser.add_argument("--dry", action="store_true", help="print the table, do not write docs/benchmarks.md")
    options = parser.parse_args()
    subprocess.run([report.REPO / "scripts/deps.sh", "ensure", "peer", "model"], check=True)
    servers = [("llama-server", peer_binary()), ("kvalet", binary())]
    warning = report.load_warning()
    if warning:
        print(warning, file=sys.stderr)
    parts = [("tight", measure_tight), ("queue", measure_queue), ("crowd", measure_crowd)]
    with tempfile.TemporaryDirectory() as folder:
        run = Run(pathlib.Path(folder))
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", flush=True)
            if options.only in "library":
                measure_library(run, pathlib.Path(deps_path("peer")))
            order = servers if number % 2 == 0 else servers[::-1]
            if options.only in "roomy":
                measure_roomy(run, order, 1000 * (number + 1))
            for name, part in parts:
                if options.only not in name:
                    continue
                for who, program in order:
                    part(run, who, program, 1000 * (number + 1))
    text = text_of(run, options.rounds, warning)
    print("\n" + text)
    if not options.dry:
        report.write_section("compare", "Beside llama-server", text)


if __name__ == "__main__":
    main()
