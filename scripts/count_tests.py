#!/usr/bin/env python3
"""Counts the tests of a run and prints the one line `N passed, N failed[, N skipped]`; exit code 1 if any failed or none ran.

Reads the JUnit reports of ctest (*-unit.xml) and pytest (*-outside.xml) in the folder. A GoogleTest program counts with
each of its cases, from its own report (PRESET-cases/PROGRAM.xml); one that died without a report of its failure counts as
one failed test.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
        return "skipped"
    return "passed"


def outcomes(report: pathlib.Path) -> list[str]:
    """The outcome of each test of a report; a report that cannot be read counts as a failed test."""
    try:
        return [outcome(case) for case in ElementTree.parse(report).getroot().iter("testcase")]
    except (OSError, ElementTree.ParseError):
        return ["failed"]


def unit_outcomes(report: pathlib.Path) -> list[str]:
    found = []
    cases = report.parent / report.name.replace("-unit.xml", "-cases")
    try:
        programs = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return ["failed"]
    for program in programs:
        own = cases / f"{program.get('name')}.xml"
        single = outcomes(own) if own.exists() else [outcome(program)]
        if outcome(program) == "failed" and "failed" not in single:
            single.append("failed")
        found += single
    return found


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    found = []
    for report in sorted(folder.glob("*-unit.xml")):
        found += unit_outcomes(report)
    for report in sorted(folder.glob("*-outside.xml")):
        found += outcomes(report)
    line = f"{found.count('passed')} passed, {found.count('failed')} failed"
    if skipped := found.count("skipped"):
        line += f", {skipped} skipped"
    print(line, flush=True)
    return 1 if "failed" in found or not found else 0


if __name__ == "__main__":
    sys.exit(main())
