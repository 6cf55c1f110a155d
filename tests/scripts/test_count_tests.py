"""The count at the end of `make test` must not lose a failure, whatever a test program does."""

import pathlib
import subprocess
import sys

import pytest

COUNT = pathlib.Path(__file__).parents[2] / "scripts" / "count_tests.py"


def count(folder):
    run = subprocess.run([sys.executable, COUNT, folder], capture_output=True, text=True, check=False)
    return run.stdout.strip(), run.returncode


def write_ctest(folder, *cases):
    body = "".join(cases)
    (folder / "release-unit.xml").write_text(f'<testsuite name="x">{body}</testsuite>')


def write_cases(folder, program, body):
    (folder / "release-cases").mkdir(exist_ok=True)
    (folder / "release-cases" / f"{program}.xml").write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>")


RAN = '<testcase name="a_test" status="run"/>'
FAILED = '<testcase name="a_test" status="fail"><failure message=""/></testcase>'


def test_each_case_of_a_program_counts(tmp_path):
    write_ctest(tmp_path, RAN)
    write_cases(tmp_path, "a_test", '<testcase name="x" status="run"/><testcase name="y" status="run"/>')
    assert count(tmp_path) == ("2 passed, 0 failed", 0)


def test_a_failed_case_counts_once(tmp_path):
    write_ctest(tmp_path, FAILED)
    write_cases(tmp_path, "a_test", '<testcase name="x" status="run"><failure/></testcase><testcase name="y" status="run"/>')
    assert count(tmp_path) == ("1 passed, 1 failed", 1)


def test_a_program_that_died_after_its_cases_counts_as_failed(tmp_path):
    write_ctest(tmp_path, FAILED)
    write_cases(tmp_path, "a_test", '<testcase name="x" status="run"/>')
    assert count(tmp_path) == ("1 passed, 1 failed", 1)


def test_a_program_that_died_without_a_report_counts_as_failed(tmp_path):
    write_ctest(tmp_path, FAILED)
    assert count(tmp_path) == ("0 passed, 1 failed", 1)


@pytest.mark.parametrize("report", ["release-unit.xml", "release-outside.xml"])
def test_a_report_cut_short_counts_as_failed(tmp_path, report):
    (tmp_path / report).write_text("<testsuite><testcase")
    assert count(tmp_path) == ("0 passed, 1 failed", 1)


def test_errors_and_skipped_ones_of_pytest(tmp_path):
    (tmp_path / "release-outside.xml").write_text(
        '<testsuites><testsuite><testcase name="a"/><testcase name="b"><error/></testcase>'
        '<testcase name="c"><skipped/></testcase></testsuite></testsuites>'
    )
    assert count(tmp_path) == ("1 passed, 1 failed, 1 skipped", 1)


def test_no_test_at_all_is_a_failure(tmp_path):
    assert count(tmp_path) == ("0 passed, 0 failed", 1)
