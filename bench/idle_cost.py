#!/usr/bin/env python3
"""What preemption costs while nothing is parked: many short pairs of one chat with it and without it, so that a machine
whose speed drifts is the same to both.

    bench/idle_cost.py [--pairs 30] [--dry]
"""

import argparse
import pathlib
import statistics
import tempfile

import report
import streams

from harness import binary, model_path

N_PREDICT = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--dry", action="store_true", help="print the table, do not write docs/benchmarks.md")
    options = parser.parse_args()
    warning = report.load_warning()
    with tempfile.TemporaryDirectory() as name:
        ratios = sorted(streams.on_and_off(pathlib.Path(name), options.pairs, N_PREDICT))
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
