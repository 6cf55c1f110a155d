"""The text of /metrics, parsed strictly."""

import math
import re

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
SUFFIXES = ("_bucket", "_sum", "_count")


class Metrics:
    """Every line must be a comment or a sample of a family that was declared before it, and every value a number."""

    def __init__(self, text: str):
        self.types: dict[str, str] = {}
        self.helps: dict[str, str] = {}
        self.samples: dict[tuple[str, tuple], float] = {}
        assert text.endswith("\n")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name, _, rest = line[7:].partition(" ")
                self.helps[name] = rest
            elif line.startswith("# TYPE "):
                name, kind = line[7:].split(" ")
                assert name not in self.types, f"{name} is declared twice"
                assert kind in ("counter", "gauge", "histogram"), line
                self.types[name] = kind
            elif line:
                self._add_sample(line)

    def _add_sample(self, line: str) -> None:
        match = SAMPLE.match(line)
        assert match, f"not a sample: {line}"
        name, labels, value = match.groups()
        number = float(value)
        assert math.isfinite(number), f"F30: {line}"
        assert self.family(name) in self.types, f"without a type: {line}"
        key = (name, tuple(LABEL.findall(labels or "")))
        assert key not in self.samples, f"twice: {line}"
        self.samples[key] = number

    def family(self, name: str) -> str:
        for suffix in SUFFIXES:
            base = name.removesuffix(suffix)
            if base != name and self.types.get(base) == "histogram":
                return base
        return name

    def __getitem__(self, name: str) -> float:
        """The sum over the labels of a family; with `llamacpp:` left out."""
        found = [value for (key, _), value in self.samples.items() if key in (name, f"llamacpp:{name}")]
        assert found, f"there is no metric {name}"
        return sum(found)

    def label(self, name: str, label: str, value: str) -> float:
        for (key, labels), sample in self.samples.items():
            if key == f"llamacpp:{name}" and (label, value) in labels:
                return sample
        raise AssertionError(f"there is no {name} with {label}={value}")

    def counters(self) -> dict[tuple[str, tuple], float]:
        """All that may only grow: counters, and the counts of histograms."""
        return {
            key: value for key, value in self.samples.items() if self.types[self.family(key[0])] in ("counter", "histogram")
        }

    def gauges(self) -> dict[tuple[str, tuple], float]:
        return {key: value for key, value in self.samples.items() if self.types[self.family(key[0])] == "gauge"}
