"""docs/benchmarks.md: each benchmark owns one section, and writes it whole."""

import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

REPO = pathlib.Path(__file__).parents[1]
REPORT = REPO / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Each section is written by the command that it names, on the machine that it names. Compare the numbers of one section with
each other, never with another section's or another machine's: all that are compared were measured in one run, taking turns.
"""


def machine() -> str:
    """In general terms: what decides the numbers, nothing that names a machine."""
    model, flags = "", ""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text()
        found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
        model = " ".join(found.group(1).split()) if found else ""
        found = re.search(r"^flags\s*: (.*)$", text, re.MULTILINE)
        flags = found.group(1) if found else ""
    best = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags.split()), "")
    parts = [f"{os.cpu_count()} cores", model, platform.machine(), best]
    return ", ".join(part for part in parts if part)


def version_of(program: str) -> str:
    """The first line with a version that the program prints."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("version: ")]
    return lines[0].removeprefix("version: ") if lines else "unknown version"


def command_line() -> str:
    script = pathlib.Path(sys.argv[0]).resolve().relative_to(REPO)
    return " ".join([str(script), *sys.argv[1:]])


def context(lines: list[str]) -> str:
    """What every section begins with."""
    facts = [f"Made by `{command_line()}` on {datetime.date.today().isoformat()}; {machine()}.", *lines]
    return "\n".join(facts) + "\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def write_section(name: str, title: str, text: str) -> None:
    """Replaces the section between its two marks, or adds it at the end."""
    old = REPORT.read_text() if REPORT.exists() else HEAD
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    section = f"{begin}## {title}\n\n{text.strip()}\n{end}"
    if begin in old and end in old:
        new = old[: old.index(begin)] + section + old[old.index(end) + len(end) :]
    else:
        new = old.rstrip() + "\n\n" + section
    REPORT.write_text(new)
    print(f"\nwritten to {REPORT.relative_to(REPO)}", flush=True)


def busy_share(seconds: float) -> float:
    """Share of the processors' time that somebody used meanwhile; 0 where the kernel does not say."""

    def ticks() -> tuple[int, int]:
        values = [int(value) for value in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(values), values[3] + values[4]  # all, idle

    if not pathlib.Path("/proc/stat").exists():
        return 0
    total, idle = ticks()
    time.sleep(seconds)
    total_after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def load_warning() -> str:
    """A sentence when the machine has other things to do; measured figures are worth little then."""
    busy = busy_share(3)
    if busy < 0.05:
        return ""
    return f"The machine was not quiet when this began: {100 * busy:.0f} % of its processors were in use."
