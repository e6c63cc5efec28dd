"""export.py --csv|--json|--extra-p [--tables LIST] [--out BEGINNING|-] RESULTS.h5[#run]...: export
of results to other tools.

CSV: one file per table, with the file and run before each row; empty cells where a run lacks a
column. Times are in seconds; NAME_units follows every column NAME in other units. JSON: the runs
with their provenance, and the tables as rows; NaN and infinity become null.
Extra-P (JSON lines): one line per sample and phase; parameters are p (ranks), t (threads), sizes
and other numbers of five values or more; what else varies is part of the call path."""
import argparse
import csv
import io
import json
import math
import os
import sys

import h5py
import numpy as np

import pick
import results
import series
import tables

# Extra-P's parameters begin with these options, in this order.
USUAL = ("n", "m", "k", "size", "steps")
FEWEST = 5  # values that Extra-P requires of a parameter: a model of two tiles passes through both


def plain(value):
    """Converts a value to its JSON and CSV form."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode(errors="replace")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_file(path, name, wanted):
    """Reads one file; name "": all its runs."""
    out = []
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            if run.startswith("_") or name not in ("", run):
                continue
            names = list(group) if wanted is None else [t for t in wanted if t in group]
            tables = {t: (results.columns(group[t]),
                          {c: str(d.attrs["units"]) for c, d in group[t].items()
                                                      if "units" in d.attrs}) for t in names}
            out.append((os.path.basename(path), run, {k: plain(v) for k, v in group.attrs.items()},
                        tables))
    return out


def read(words, wanted):
    """Returns [(file, run, attributes, {table: (columns, units)})] of the named runs, unfinished
    ones included. Exits with code 66 if there are none."""
    out = []
    for word in words:
        path, name = pick.split_run(word)
        found, = pick.read(path, lambda path: read_file(path, name, wanted))
        out += found
    if not out:
        pick.fail(66, f"'{', '.join(words)}' matches no run")
    return out


def rows_of(columns):
    return [dict(zip(columns, (plain(v) for v in values))) for values in zip(*columns.values())]


def with_units(row, units):
    """Returns the row with NAME_units after every column in units other than seconds."""
    out = {}
    for name, value in row.items():
        out[name] = value
        if units.get(name, "s") not in ("", "s"):
            out[f"{name}_units"] = units[name]
    return out


def as_csv(runs):
    """Returns {table: CSV text}."""
    found = {}
    for file, run, _, tables in runs:
        for table, (columns, units) in tables.items():
            found.setdefault(table, []).extend(
                {"file": file, "run": run, **with_units(row, units)} for row in rows_of(columns))
    out = {}
    for table, rows in found.items():
        names = list(dict.fromkeys(name for row in rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        out[table] = text.getvalue()
    return out


def as_json(runs):
    return json.dumps({"tessera_export": 1, "runs": [
        {"file": file, "run": run, "attributes": attributes,
         "tables": {t: {"units": units, "rows": rows_of(columns)}
                    for t, (columns, units) in tables.items()}}
        for file, run, attributes, tables in runs]}, indent=1, allow_nan=False) + "\n"


def values(points, name):
    return tuple(point.config[name] for point in points)


def parameters(points):
    """Returns the names of Extra-P's parameters besides ranks and threads, USUAL first, and of the
    columns that are part of the call path. Parameters are sizes, and other numbers with FEWEST
    values. One that equals another at all points (m = n = k) is neither: Extra-P would vary each
    alone, and model constants."""
    varying = [n for n in tables.varying(points) if n not in series.MACHINE + series.FOUND]
    numbers = [n for n in varying if not any(isinstance(v, str) for v in values(points, n))
               and (n in USUAL or len(set(values(points, n))) >= FEWEST)]
    numbers.sort(key=lambda n: USUAL.index(n) if n in USUAL else len(USUAL))
    first = {}
    for name in numbers:
        first.setdefault(values(points, name), name)
    return list(first.values()), [n for n in varying if n not in numbers]


def phase_samples(path, run):
    """Returns {(point, phase): [mean over ranks for each repetition]}."""
    with h5py.File(path, "r") as file:
        if "phases" not in file[run]:
            return {}
        table = results.columns(file[run]["phases"])
    found = {}
    for point, phase, repetition, seconds in zip(*(table[c]
                                                   for c in ("point", "phase", "repetition",
                                                             "seconds"))):
        if repetition >= 0:
            found.setdefault((results.identity_of(point), phase),
                             {}).setdefault(int(repetition), []).append(float(seconds))
    return {key: [float(np.mean(found[key][r])) for r in sorted(found[key])] for key in found}


def line_of(params, callpath, seconds):
    return json.dumps({"params": params, "callpath": callpath, "metric": "time",
                       "value": float(seconds)})


def params_of(point, names):
    return {"p": int(point.config["ranks"]), "t": int(point.config["threads"]),
            **{n: plain(point.config[n]) for n in names}}


def place_of(point, names):
    return tuple(params_of(point, names).values())


def lines_of(by_path, names, phases):
    """Yields Extra-P's lines for call paths measured at the same places. A phase that a point lacks
    took 0 s: Extra-P rejects a call path that lacks a place of another one."""
    for path, points in by_path.items():
        samples = {}  # by phase and place
        for point in points:
            for phase, seconds in [("", point.seconds),
                                   *phases.get((id(point.run), point.key), [])]:
                samples.setdefault(phase, {}).setdefault(place_of(point, names), []).extend(seconds)
        params = {place_of(point, names): params_of(point, names) for point in points}
        for phase, found in samples.items():
            for place, one in params.items():
                for seconds in found.get(place, [0.0]):
                    yield line_of(one, f"{path}->{phase}" if phase else path, seconds)


def alike(points):
    """Returns the parameters of a workload and [{call path: points}], grouped by the places where
    they were measured."""
    points = results.disambiguate(points)
    names, words = parameters(points)
    paths, groups = {}, {}
    for point in points:
        named = [f"{n}={point.config[n]}" for n in words if point.config[n] != ""]
        paths.setdefault("->".join([point.run.workload] + named), []).append(point)
    for path, mine in paths.items():
        groups.setdefault(frozenset(place_of(point, names) for point in mine), {})[path] = mine
    return names, list(groups.values())


def as_extra_p(words):
    """Returns {suffix: text}: one file per workload if there are several, and one per group of call
    paths with the same places, as Extra-P requires."""
    found, phases = {}, {}
    for word in words:
        for run in pick.runs(word):
            found.setdefault(run.workload, []).extend(run.points)
            for (key, phase), seconds in phase_samples(pick.split(word)[0], run.name).items():
                phases.setdefault((id(run), key), []).append((phase, seconds))
    texts = {}
    for workload, points in found.items():
        names, groups = alike(points)
        for number, group in enumerate(groups, 1):
            ending = (f"_{workload}" if len(found) > 1 else "") + (f"_{number}" if len(groups) > 1
                                                                   else "")
            texts[ending + ".jsonl"] = "\n".join(lines_of(group, names, phases)) + "\n"
    return texts


def write(texts, beginning):
    """Writes texts ({suffix: text}) to files, or one after another to the terminal."""
    for ending, text in texts.items():
        if beginning == "-":
            sys.stdout.write(text)
            continue
        path = beginning + ending
        try:
            pick.write_whole(path, text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            pick.fail(73,
                      f"'{path}' cannot be written ({error.strerror}); name another prefix with "
                      f"--out")
        print(f"wrote {path}")


@pick.command
def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera export")
    parser.add_argument("files", nargs="+")
    for name in ("--csv", "--json", "--extra-p"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--tables", default="samples,summary")
    parser.add_argument("--out")
    arguments = parser.parse_args(words)
    if arguments.csv + arguments.json + arguments.extra_p != 1:
        pick.fail(64, "a format is required; give one of --csv, --json, --extra-p")
    beginning = arguments.out or os.path.splitext(pick.split(arguments.files[0])[0])[0]
    if arguments.extra_p and arguments.tables != parser.get_default("tables"):
        pick.fail(64, "--tables conflicts with --extra-p, which writes samples and phases; drop "
                      "--tables")
    if arguments.extra_p:
        texts = as_extra_p(arguments.files)
        if beginning == "-" and len(texts) > 1:
            pick.fail(64, f"--out - accepts one file: Extra-P requires {len(texts)} files, since "
                          f"workloads or call paths were measured at different points; give --out "
                          f"PREFIX or select a run with file.h5#run")
        write(texts, beginning)
        return
    wanted = None if arguments.tables == "all" else arguments.tables.split(",")
    runs = read(arguments.files, wanted)
    for table in wanted or () if arguments.tables != parser.get_default("tables") else ():
        if not any(table in tables for _, _, _, tables in runs):
            pick.fail(64, f"--tables: no run has a table '{table}'; name other tables, or all")
    if arguments.csv and not any(tables for _, _, _, tables in runs):
        pick.fail(65, f"no run has a table {arguments.tables.replace(',', ' or ')}; try --tables "
                      f"all")
    write({f"_{t}.csv": text for t, text in as_csv(runs).items()} if arguments.csv
          else {".json": as_json(runs)}, beginning)


if __name__ == "__main__":
    pick.end_with_the_pipe()
    main()
