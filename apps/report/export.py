"""export.py --csv|--json|--extra-p [--tables LIST] [--out BEGINNING|-] RESULTS.h5[#run]...: results for other tools.

CSV: a file a table, a row as in the table with the file and run before it; what a run has no column for is empty.
JSON: the runs with their provenance, and the tables as rows; what is no number (NaN, infinity) is null.
Extra-P (JSON lines): every sample and every phase of it as a line; parameters are p (ranks), t (threads) and every number that varies,
what varies in words is part of the call path.
"""
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

# Of options with these names Extra-P's parameters come first, in this order.
USUAL = ("n", "m", "k", "size", "steps")


def plain(value):
    """A value as JSON and CSV know it."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode(errors="replace")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_file(path, name, wanted):
    """The same of one file; name "": of all its runs."""
    out = []
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            if run.startswith("_") or name not in ("", run):
                continue
            names = list(group) if wanted is None else [t for t in wanted if t in group]
            tables = {t: (results.columns(group[t]), {c: str(d.attrs["units"]) for c, d in group[t].items()
                                                      if "units" in d.attrs}) for t in names}
            out.append((os.path.basename(path), run, {k: plain(v) for k, v in group.attrs.items()}, tables))
    return out


def read(words, wanted):
    """[(file, run, attributes, {table: (columns, units)})] of what is named, unfinished runs too."""
    out = []
    for word in words:
        path, name = pick.split(word)
        found, = pick.read(path, lambda path: read_file(path, name, wanted))
        out += found
    if not out:
        pick.fail(66, f"there is no such run in '{', '.join(words)}'")
    return out


def rows_of(columns):
    return [dict(zip(columns, (plain(v) for v in values))) for values in zip(*columns.values())]


def as_csv(runs):
    """{table: text}"""
    found = {}
    for file, run, _, tables in runs:
        for table, (columns, _) in tables.items():
            found.setdefault(table, []).extend({"file": file, "run": run, **row} for row in rows_of(columns))
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
         "tables": {t: {"units": units, "rows": rows_of(columns)} for t, (columns, units) in tables.items()}}
        for file, run, attributes, tables in runs]}, indent=1, allow_nan=False) + "\n"


def parameters(points):
    """Names of the numbers that vary, the usual ones first; p and t stand for ranks and threads."""
    names = [n for n in tables.varying(points) if n not in series.MACHINE + series.FOUND
             and not any(isinstance(p.config[n], str) for p in points)]
    return sorted(names, key=lambda n: USUAL.index(n) if n in USUAL else len(USUAL))


def phase_samples(path, run):
    """{(point, phase): [mean of the ranks of each repetition]}"""
    with h5py.File(path, "r") as file:
        if "phases" not in file[run]:
            return {}
        table = results.columns(file[run]["phases"])
    found = {}
    for point, phase, repetition, seconds in zip(*(table[c] for c in ("point", "phase", "repetition", "seconds"))):
        if repetition >= 0:
            found.setdefault((results.identity_of(point), phase), {}).setdefault(int(repetition), []).append(float(seconds))
    return {key: [float(np.mean(found[key][r])) for r in sorted(found[key])] for key in found}


def lines_of(points, phases):
    """The points of one workload as lines; all have the same parameters."""
    points = results.tell_apart(points)
    names = parameters(points)
    words = [n for n in tables.varying(points) if isinstance(points[0].config[n], str) and n not in series.FOUND]
    for point in points:
        path = "->".join([point.run.workload] + [f"{n}={point.config[n]}" for n in words if point.config[n] != ""])
        params = {"p": int(point.config["ranks"]), "t": int(point.config["threads"]), **{n: plain(point.config[n]) for n in names}}
        samples = [(path, point.seconds)] + [(f"{path}->{phase}", seconds)
                                             for (phase, seconds) in phases.get((id(point.run), point.key), [])]
        for callpath, seconds in samples:
            for value in seconds:
                yield json.dumps({"params": params, "callpath": callpath, "metric": "time", "value": float(value)})


def as_extra_p(words):
    """{ending: text}, a file a workload where there are several."""
    found, phases = {}, {}
    for word in words:
        for run in pick.runs(word):
            found.setdefault(run.workload, []).extend(run.points)
            for (key, phase), seconds in phase_samples(pick.split(word)[0], run.name).items():
                phases.setdefault((id(run), key), []).append((phase, seconds))
    return {f"_{workload}.jsonl" if len(found) > 1 else ".jsonl": "\n".join(lines_of(points, phases)) + "\n"
            for workload, points in found.items()}


def write(texts, beginning):
    """texts: {ending: text}; on the terminal one after the other."""
    for ending, text in texts.items():
        if beginning == "-":
            sys.stdout.write(text)
            continue
        path = beginning + ending
        try:
            pick.write_whole(path, text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            pick.fail(73, f"cannot write '{path}' ({error.strerror}); name another place with --out")
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
        pick.fail(64, "say which form: one of --csv, --json, --extra-p")
    beginning = arguments.out or os.path.splitext(pick.split(arguments.files[0])[0])[0]
    if arguments.extra_p and arguments.tables != parser.get_default("tables"):
        pick.fail(64, "--extra-p writes samples and phases; drop --tables")
    if arguments.extra_p:
        write(as_extra_p(arguments.files), beginning)
        return
    wanted = None if arguments.tables == "all" else arguments.tables.split(",")
    runs = read(arguments.files, wanted)
    for table in wanted or () if arguments.tables != parser.get_default("tables") else ():
        if not any(table in tables for _, _, _, tables in runs):
            pick.fail(64, f"--tables: no run has a table '{table}'; give others, or all")
    if arguments.csv and not any(tables for _, _, _, tables in runs):
        pick.fail(65, f"no run has a table {arguments.tables.replace(',', ' or ')}; try --tables all")
    write({f"_{t}.csv": text for t, text in as_csv(runs).items()} if arguments.csv else {".json": as_json(runs)}, beginning)


if __name__ == "__main__":
    pick.end_with_the_pipe()
    main()
