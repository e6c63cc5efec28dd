"""report.py RESULTS.h5 [--png FILE]: what a results file holds, as tables and as one picture.

Needs Python 3 with h5py, numpy and matplotlib. `tessera report` calls it.
"""
import argparse
import os
import sys

import locality
import picture
import results
import speedup
import tables


def fail(code, message):
    print(f"tessera: error: {message}", file=sys.stderr)
    sys.exit(code)


def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera report", description="Tables and a picture of a results file.")
    parser.add_argument("file")
    parser.add_argument("--png", help="where the picture goes (default: beside the results)")
    arguments = parser.parse_args(words)
    if not os.path.exists(arguments.file):
        fail(66, f"there is no file '{arguments.file}'; check the path")
    try:
        runs = results.read(arguments.file)
        traced = locality.read(arguments.file)
    except (OSError, KeyError, ValueError) as error:
        fail(65, f"'{arguments.file}' is no results file ({error}); give one that --results named")
    if not runs and not traced:
        fail(65, f"'{arguments.file}' holds no finished point; measure something with --results {arguments.file}")
    for run in runs:
        print(tables.text(run))
        if run.scalability:
            print(speedup.text(run.scalability))
    for workload, run in results.by_workload(runs).items():
        beside = tables.side_by_side(run.points)
        if beside and not run.scalability:
            print(f"{workload}, medians side by side\n{beside}")
    png = arguments.png or os.path.splitext(arguments.file)[0] + ".png"
    names = []
    try:
        if runs:
            picture.draw(results.by_workload(runs), png)
            names.append(png)
        if traced:
            print(locality.text(traced))
            stem, kind = os.path.splitext(png)
            names += locality.draw(traced, f"{stem}_misses{kind}" if runs else png)
    except OSError as error:
        fail(73, f"cannot write '{png}' ({error.strerror}); name another place with --png")
    for name in names:
        print(f"picture: {name}")


if __name__ == "__main__":
    main()
