#!/usr/bin/env python3
"""What preemption costs while nothing is parked: many short pairs of one chat with it and without it, so that a machine
whose speed drifts is the same to both.

    bench/idle_cost.py [--pairs 30] [--dry]
"""

import argparse
import pathlib
import statistics
import tempfile

import measure
import report

from harness import binary, model_path

N_PREDICT = 60
FLAGS = ["-c", "8192", "--parallel", "4", "--kv-unified"]


def on_and_off(folder: pathlib.Path, n_pairs: int) -> list[float]:
    """Tokens/s of one chat with preemption over those without, of neighbours in time."""
    ratios = []
    with measure.ours(folder / "on.log", FLAGS) as on, measure.ours(folder / "off.log", [*FLAGS, "--no-preempt"]) as off:
        for number in range(n_pairs):
            rates = {}
            for asked in (on, off) if number % 2 == 0 else (off, on):
                rates[asked] = measure.alone(asked, N_PREDICT, number)
            ratios.append(rates[on] / rates[off])
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--dry", action="store_true", help="print the table, do not write docs/benchmarks.md")
    options = parser.parse_args()
    warning = report.load_warning()
    with tempfile.TemporaryDirectory() as name:
        ratios = sorted(on_and_off(pathlib.Path(name), options.pairs))
    quarter = len(ratios) // 4
    table = report.table(
        [f"one chat, tokens/s, preemption on / off, {len(ratios)} pairs of {N_PREDICT} tokens", "ratio"],
        [
            ["median", f"{statistics.median(ratios):.3f}"],
            ["middle half", f"{ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}"],
            ["all", f"{ratios[0]:.3f} to {ratios[-1]:.3f}"],
        ],
    )
    facts = [f"Kvalet {report.version_of(binary())}; model {pathlib.Path(model_path()).name}.", *([warning] if warning else [])]
    text = report.context(facts) + "\n" + table
    print("\n" + text)
    if not options.dry:
        report.write_section("idle-cost", "Preemption while nothing is parked", text)


if __name__ == "__main__":
    main()
