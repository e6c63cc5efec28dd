"""Results files of the program `tessera` (option --results) as tables of pandas."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]


def _needed(name: str) -> Any:
    """Returns an optional module; raises ImportError with the packages that have it."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(f"tessera.read_results needs {name} (apt install python3-{name}, or pip "
                          f"install {name}): {missing}") from missing


def _row_of(point: Any, value_of: Callable[[str], int | str]) -> dict[str, Any]:
    """Returns a point as a row: what describes it first, then what was measured."""
    options = {name.replace("-", "_"): value_of(text) for name, text in point.used.items()}
    config = {name: value for name, value in point.config.items() if str(value) != ""}
    return {"run": point.run.name, "workload": point.run.workload, **config,
            **{name: value for name, value in options.items() if name not in config},
            **point.measured}


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes without numpy's arrays, which pandas cannot compare."""
    return {name: value.tolist() if hasattr(value, "tolist") else value
            for name, value in attributes.items()}


def _units_of(groups: Any) -> dict[str, Any]:
    """Returns {column: its unit}, or {column: {run: unit}} if the runs differ."""
    found: dict[str, dict[str, str]] = {}
    for name, group in groups:
        for column, dataset in group["summary"].items():
            if "units" in dataset.attrs:
                found.setdefault(column, {})[name] = str(dataset.attrs["units"])
    return {column: by_run if len(set(by_run.values())) > 1 else next(iter(by_run.values()))
            for column, by_run in found.items()}


def read_results(path: str | os.PathLike[str], run: str | None = None) -> pandas.DataFrame:
    """Returns the points of a results file as a pandas.DataFrame, one row each.

    path: a file that `tessera COMMAND --results PATH` wrote. run: one of its runs, such as
    "matmul_0001"; None: all.

    Columns: run and workload; what was computed (kernel, type, n, ranks, threads, ...) and the
    options that the kernel uses; then repetitions, median, ci_low .. ci_high (the interval of the
    median, 95 % from six repetitions on), min, max, mean, work, rate, and the verification;
    verified is 1, 0, or -1 (not verified). Cells that do not apply are NaN.
    attrs["units"] has the unit of each column, {run: unit} if the runs differ; attrs["runs"] the
    provenance of each run: command line, versions, hosts.

    Raises FileNotFoundError, OSError for files that are not HDF5, ValueError for those without
    results and for an unknown run, ImportError without pandas or h5py.

    >>> points = tessera.read_results("r.h5")  # tessera matmul --n 64,128 --results r.h5
    >>> points[["workload", "type", "n"]]
      workload type    n
    0   matmul  f64   64
    1   matmul  f64  128
    >>> points.attrs["units"]["rate"], points.attrs["units"]["median"]
    ('GFLOP/s', 's')
    >>> bool((points["ci_low"] <= points["median"]).all())
    True
    """
    frames, h5py = _needed("pandas"), _needed("h5py")
    from . import _runs
    name = os.fspath(path)
    try:
        found = _runs.read(name)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"'{name}' is not a results file of Tessera: {error}") from error
    if not found:
        raise ValueError(f"'{name}' has no results: no run has a finished point")
    if run is not None:
        names = [one.name for one in found]
        found = [one for one in found if one.name == run]
        if not found:
            raise ValueError(f"run is {run!r}: must be one of {', '.join(names)}")
    table = frames.DataFrame([_row_of(point, _runs.value_of)
                              for one in found for point in one.points])
    measured = [c for c in (*_runs.MEASURED, *_runs.KERNELS) if c in table]
    table = table[[c for c in table if c not in measured] + measured]
    with h5py.File(name, "r") as file:
        table.attrs["units"] = _units_of((one.name, file[one.name]) for one in found)
    table.attrs["runs"] = {one.name: _plain(one.attributes) for one in found}
    return table
