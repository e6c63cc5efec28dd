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


def read(words, wanted):
    """[(file, run, attributes, {table: (columns, units)})] of what is named, unfinished runs too."""
    out = []
    for word in words:
        path, name = pick.split(word)
        if not os.path.exists(path):
            pick.fail(66, f"there is no file '{path}'; check the path")
        try:
            with h5py.File(path, "r") as file:
                for run, group in file.items():
                    if not isinstance(group, h5py.Group) or run.startswith("_") or name not in ("", run):
                        continue
                    names = [t for t in group if wanted is None or t in wanted]
                    tables = {t: (results.columns(group[t]), {c: str(d.attrs["units"]) for c, d in group[t].items()
                                                              if "units" in d.attrs}) for t in names}
                    out.append((os.path.basename(path), run, {k: plain(v) for k, v in group.attrs.items()}, tables))
        except (OSError, KeyError, ValueError, AttributeError) as error:
            pick.fail(65, f"'{path}' is no results file ({error}); give one that --results named")
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
    def is_number(value):
        return not isinstance(value, str)
    names = [n for n in dict.fromkeys(n for p in points for n in p.config) if n not in ("ranks", "threads", "messages")
             and all(is_number(p.config.get(n, 0)) for p in points) and len({p.config.get(n, 0) for p in points}) > 1]
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
            found.setdefault((point, phase), {}).setdefault(int(repetition), []).append(float(seconds))
    return {key: [float(np.mean(found[key][r])) for r in sorted(found[key])] for key in found}


def as_extra_p(words):
    lines = []
    for word in words:
        runs = pick.runs(word)
        points = [p for run in runs for p in results.tell_apart(run.points)]
        names = parameters(points)
        varied = {n for p in points for n in p.config if isinstance(p.config[n], str) and n not in ("grid", "hash")}
        varied = {n for n in varied if len({p.config.get(n, "") for p in points}) > 1}
        for run in runs:
            phases = phase_samples(pick.split(word)[0], run.name)
            for point in results.tell_apart(run.points):
                path = "->".join([run.workload] + [f"{n}={v}" for n, v in point.config.items() if n in varied and v != ""])
                params = {"p": int(point.config["ranks"]), "t": int(point.config["threads"]),
                          **{n: plain(point.config.get(n, 0)) for n in names}}
                series = [(path, point.seconds)]
                series += [(f"{path}->{phase}", seconds) for (key, phase), seconds in phases.items() if key == point.key]
                for callpath, seconds in series:
                    lines += [json.dumps({"params": params, "callpath": callpath, "metric": "time", "value": float(v)})
                              for v in seconds]
    return "\n".join(lines) + "\n"


def write(texts, beginning):
    """texts: {ending: text}; on the terminal one after the other."""
    for ending, text in texts.items():
        if beginning == "-":
            sys.stdout.write(text)
            continue
        path = beginning + ending
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            pick.fail(73, f"cannot write '{path}' ({error.strerror}); name another place with --out")
        print(f"wrote {path}")


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
    if arguments.extra_p:
        write({".jsonl": as_extra_p(arguments.files)}, beginning)
        return
    runs = read(arguments.files, None if arguments.tables == "all" else arguments.tables.split(","))
    write({f"_{t}.csv": text for t, text in as_csv(runs).items()} if arguments.csv else {".json": as_json(runs)}, beginning)


if __name__ == "__main__":
    main()
