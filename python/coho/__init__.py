"""Reads what coho measured.

>>> import coho
>>> profile = coho.read("mine.json")            # doctest: +SKIP
>>> [f.median for f in profile.figures if f.key == "sync.barrier"]   # doctest: +SKIP
[52.1]

Measuring is the command's: `coho survey -o mine.json`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Error", "Figure", "Profile", "command", "read"]


class Error(Exception):
    """What the command says of a profile that it cannot read."""


@dataclass(frozen=True)
class Figure:
    """One figure: the median of `n` samples, in `unit`, with the ends of its 95 % interval.

    `key` is stable for scripts (`coho schema --figures` lists them all); `parameters` tell figures of one key apart.
    With fewer than six samples, `low` and `high` are their range. `better` is lower, higher or neither.
    """

    profile: str
    key: str
    label: str
    parameters: Mapping[str, str]
    median: float
    low: float
    high: float
    min: float
    n: int
    unit: str
    better: str


@dataclass(frozen=True)
class Profile:
    """A profile: its figures, and all that its file holds, as `coho schema` describes it."""

    figures: list[Figure]
    content: Mapping[str, Any]

    def rows(self) -> list[dict[str, Any]]:
        """The figures as flat rows; parameters are columns of their own, named `parameter.NAME`."""
        rows = []
        for figure in self.figures:
            row = asdict(figure)
            parameters = row.pop("parameters")
            row.update((f"parameter.{name}", value) for name, value in parameters.items())
            rows.append(row)
        return rows

    def to_pandas(self) -> Any:
        """The figures as a pandas data frame; pandas has to be installed."""
        import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """The figures as a polars data frame; polars has to be installed."""
        import polars  # type: ignore[import-not-found, unused-ignore]

        return polars.DataFrame(self.rows(), infer_schema_length=None)


def command() -> str:
    """The path of the command `coho`: this installation's, or else the first in PATH."""
    own = Path(sysconfig.get_path("scripts"), "coho")
    found = str(own) if own.is_file() else shutil.which("coho")
    if found is None:
        raise Error("the command coho is neither beside this Python nor in PATH")
    return found


def read(path: str | os.PathLike[str]) -> Profile:
    """Reads a profile file.

    Raises `Error` with the reason if it is no profile, and `OSError` if there is no such file.
    """
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    # A path that no option and no publication is mistaken for.
    asked = [command(), "figures", "--json", "--", os.path.abspath(path)]
    done = subprocess.run(asked, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise Error(done.stderr.strip())
    names = Figure.__dataclass_fields__
    rows = ({name: row[name] for name in names} for row in json.loads(done.stdout))
    return Profile([Figure(**row) for row in rows], content)
