#!/usr/bin/env python3
"""What preemption costs while nothing is parked, one chat with it and without it:
 - in one process, where engines with and without take turns on one model in one memory (bench_idle);
 - as whole servers, many short pairs. Two servers with the same flags differ by some percent from start to start, so the
   servers are started anew several times.

    bench/idle_cost.py [--rounds 150] [--starts 4] [--pairs 12] [--dry]
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile

import measure
import report

from harness import binary, model_path

N_PREDICT = 60
FLAGS = ["-c", "8192", "--parallel", "4", "--kv-unified"]


def in_one_process(n_rounds: int) -> dict[str, list[float]]:
    """Speed with preemption over speed without, and of two engines without: the error of the measurement."""
    program = pathlib.Path(binary()).parent / "bench_idle"
    said = subprocess.run([program, model_path(), str(n_rounds), str(N_PREDICT)], capture_output=True, text=True, check=True)
    rounds = [[float(us) for us in line.split()] for line in said.stdout.splitlines()]
    assert len(rounds) == n_rounds
    return {
        "one process: with / without": [without / with_it for with_it, without, _ in rounds],
        "one process: without / without": [without / again for _, without, again in rounds],
    }


def of_servers(folder: pathlib.Path, n_starts: int, n_pairs: int) -> dict[str, list[float]]:
    """Tokens/s of one chat with preemption over those without, of neighbours in time."""
    ratios = []
    for start in range(n_starts):
        ours = [("on", FLAGS), ("off", [*FLAGS, "--no-preempt"])]
        ours = ours if start % 2 == 0 else ours[::-1]  # nor is one always started first
        with measure.ours(folder / "a.log", ours[0][1]) as a, measure.ours(folder / "b.log", ours[1][1]) as b:
            servers = {ours[0][0]: a, ours[1][0]: b}
            for number in range(n_pairs):
                order = ["on", "off"] if number % 2 == 0 else ["off", "on"]
                rates = {name: measure.alone(servers[name], N_PREDICT, number) for name in order}
                ratios.append(rates["on"] / rates["off"])
    return {f"servers, {n_starts} starts: with / without": ratios}


def row(name: str, ratios: list[float]) -> list[str]:
    ordered = sorted(ratios)
    quarter = len(ordered) // 4
    return [
        name, str(len(ordered)), f"{statistics.median(ordered):.3f}",
        f"{ordered[quarter]:.3f} to {ordered[-1 - quarter]:.3f}", f"{ordered[0]:.3f} to {ordered[-1]:.3f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--dry", action="store_true", help="print the table, do not write docs/benchmarks.md")
    options = parser.parse_args()
    warning = report.load_warning()
    found = in_one_process(options.rounds)
    with tempfile.TemporaryDirectory() as name:
        found |= of_servers(pathlib.Path(name), options.starts, options.pairs)
    head = [f"one chat, {N_PREDICT} tokens, speed with preemption over speed without", "pairs", "median", "middle half", "all"]
    facts = [f"Kvalet {report.version_of(binary())}; model {pathlib.Path(model_path()).name}.", *([warning] if warning else [])]
    text = report.context(facts) + "\n" + report.table(head, [row(name, ratios) for name, ratios in found.items()])
    print("\n" + text)
    if not options.dry:
        report.write_section("idle-cost", "Preemption while nothing is parked", text)


if __name__ == "__main__":
    main()
