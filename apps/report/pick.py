"""Results files named on a command line, and errors in one line."""
import os
import sys

import results


def fail(code, message):
    print(f"tessera: error: {message}", file=sys.stderr)
    sys.exit(code)


def warn(message):
    print(f"tessera: warning: {message}", file=sys.stderr)


def split(word):
    """(file, run) of "file.h5#run"; the run is "" where none is named. A file whose own name holds a # is a file."""
    if os.path.exists(word) or "#" not in word:
        return word, ""
    file, _, run = word.rpartition("#")
    return file, run


def runs(word):
    """The runs with finished points of "file.h5" or "file.h5#run"."""
    path, name = split(word)
    if not os.path.exists(path):
        fail(66, f"there is no file '{path}'; check the path")
    try:
        found = results.read(path)
    except (OSError, KeyError, ValueError, IndexError) as error:
        fail(65, f"'{path}' is no results file ({error}); give one that --results named")
    if name and name not in [run.name for run in found]:
        known = ", ".join(run.name for run in found) or "none with a finished point"
        fail(66, f"'{path}' has no run '{name}'; it has {known}")
    found = [run for run in found if name in ("", run.name)]
    if not found:
        fail(65, f"'{path}' holds no finished timings; measure something with --results {path}")
    return found
