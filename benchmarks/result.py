"""What a benchmark found, as it stands in its JSON file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.sample import rounded
from pipeline.errors import OutputError
from pipeline.packages import version_of
from pipeline.report import machine
from pipeline.version import VERSION

Figure = float | int | None
Load = tuple[float, float, float]


@dataclass(frozen=True)
class Result:
    """One run of one benchmark.

    Attributes:
        machine: platform, processor, cores, Python.
        versions: of voxring and of the packages that matter.
        load: the system's load averages over 1, 5 and 15 minutes, "before" and "after" the run.
        n: how many samples the main metric rests on.
        metrics: flat, each named with its unit; None where there was no sample.
        settings: how it was run.
    """

    benchmark: str
    machine: dict[str, Any]
    versions: dict[str, str]
    load: dict[str, Load]
    n: int
    metrics: dict[str, Figure]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def json(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def write(self, path: Path) -> None:
        """Write the JSON file.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.json, encoding="utf-8")
        except OSError as error:
            raise OutputError(
                f"{path} cannot be written: {error.strerror}", "Choose another --json"
            ) from error

    @classmethod
    def read(cls, path: Path) -> "Result":
        """The inverse of `write`.

        Raises:
            TypeError: a key is missing, or one too many.
        """
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        raw["load"] = {name: tuple(values) for name, values in raw["load"].items()}
        return cls(**raw)


def load_now() -> Load:
    """The system's load averages over 1, 5 and 15 minutes."""
    one, five, fifteen = os.getloadavg()
    return round(one, 2), round(five, 2), round(fifteen, 2)


def make_result(
    benchmark: str,
    *,
    before: Load,
    n: int,
    metrics: Mapping[str, Figure],
    settings: Mapping[str, Any],
    packages: tuple[str, ...] = (),
) -> Result:
    """A result of this moment on this machine.

    Args:
        before: the load when the run began.
        packages: whose versions count besides the usual ones.
    """
    described = machine()
    versions = {"voxring": VERSION, **described.pop("versions")}
    versions |= {name: found for name in packages if (found := version_of(name))}
    return Result(
        benchmark,
        described,
        versions,
        {"before": before, "after": load_now()},
        n,
        {name: rounded(value) for name, value in metrics.items()},
        dict(settings),
    )
