#!/usr/bin/env python3
"""Four chats of about 300 + 700 tokens in two pools that hold two and three of them, over budgets of --preempt-ram:
the default, one between the sizes of two parks, a tiny one, and none. Every chat must come to its end in every cell.

    bench/budgets.py [--runs 3] [--side-by-side] [--dry]
"""

import argparse
import concurrent.futures
import pathlib
import statistics
import tempfile

import measure
import report

from harness import Server, binary, model_path

POOLS = [2048, 3072]
BUDGETS = {"8192 (default)": 8192, "16 (between two parks' sizes)": 16, "1 (tiny)": 1, "0 (never copy)": 0}
N_CHATS, N_PROMPT, N_PREDICT = 4, 300, 700


class Cell:
    def __init__(self):
        self.whole = 0
        self.rates: list[float] = []
        self.swaps = self.recomputes = self.replayed = self.bytes_max = 0.0

    def add(self, figures: dict[str, float]) -> None:
        self.whole += int(figures["whole"])
        self.rates.append(figures["tokens_per_s"])

    def read(self, metrics) -> None:
        assert metrics["preempt_ram_bytes"] == 0 and metrics["n_kv_full_total"] == 0
        self.swaps += metrics["n_preempt_swap_total"]
        self.recomputes += metrics["n_preempt_recompute_total"]
        self.replayed += metrics["n_recompute_tokens_total"]
        self.bytes_max = max(self.bytes_max, metrics["preempt_ram_bytes_max"])


def measure_cell(cell: Cell, folder: pathlib.Path, pool: int, budget: int, options, seed: int) -> None:
    flags = ["-c", str(pool), "--parallel", str(N_CHATS), "--kv-unified", "--metrics"]
    flags += ["--preempt-preset", options.preset, "--preempt-ram", str(budget)]
    flags += ["--threads", "1"] if options.side_by_side else []
    server = Server([binary(), "-m", model_path(), *flags], folder / f"server-{pool}.log")
    try:
        server.wait_ready()
        cell.add(measure.overflow(server, N_CHATS, N_PROMPT, N_PREDICT, seed))
        cell.read(server.metrics())
    finally:
        server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--side-by-side", action="store_true", help="both pools at a time, with one thread each")
    parser.add_argument("--dry", action="store_true", help="print the table, do not write docs/benchmarks.md")
    options = parser.parse_args()
    warning = report.load_warning()
    cells = {(pool, name): Cell() for pool in POOLS for name in BUDGETS}
    with tempfile.TemporaryDirectory() as folder:

        def measure_pool(pool: int) -> None:
            for number in range(options.runs):  # every cell once, then all again: taking turns
                for name, budget in BUDGETS.items():
                    cell = cells[pool, name]
                    measure_cell(cell, pathlib.Path(folder), pool, budget, options, 100 * (number + 1))
                    print(f"run {number + 1}: pool {pool}, budget {name}: {cell.whole} whole, {cell.rates[-1]:.1f} tokens/s", flush=True)

        with concurrent.futures.ThreadPoolExecutor(len(POOLS) if options.side_by_side else 1) as lanes:
            list(lanes.map(measure_pool, POOLS))
    wanted = N_CHATS * options.runs
    best = {pool: statistics.median(cells[pool, next(iter(BUDGETS))].rates) for pool in POOLS}
    rows = [
        [
            str(pool), name, f"{cell.whole} of {wanted}", f"{cell.swaps:.0f}", f"{cell.recomputes:.0f}", f"{cell.replayed:.0f}",
            f"{cell.bytes_max / 2**20:.1f}", f"{statistics.median(cell.rates):.1f}", f"{statistics.median(cell.rates) / best[pool]:.2f}",
        ]
        for (pool, name), cell in cells.items()
    ]  # fmt: skip
    head = ["pool", "--preempt-ram, MiB", "came to their end", "parks by swap", "by recompute", "tokens computed again", "most MiB parked", "tokens/s, median", "of the default"]
    facts = [
        f"Kvalet {report.version_of(binary())}, `--preempt-preset {options.preset}`; model {pathlib.Path(model_path()).name};",
        f"{N_CHATS} concurrent chats of {N_PROMPT} + {N_PREDICT} tokens, {options.runs} runs; parks and tokens are sums over the runs.",
        *(["The two pools were measured at the same time, with one thread each."] if options.side_by_side else []),
        *([warning] if warning else []),
    ]
    text = report.context(facts) + "\n" + report.table(head, rows)
    print("\n" + text)
    assert all(cell.whole == wanted for cell in cells.values()), "not everybody came to their end"
    if not options.dry:
        report.write_section("budgets", "Budgets of host memory", text)


if __name__ == "__main__":
    main()
