"""Results files named on a command line, and one-line errors."""
import functools
import os
import re
import secrets
import signal
import sys

import h5py

import answer
import results

# Exceptions raised for files that lack data or have another structure.
BROKEN = (OSError, KeyError, ValueError, IndexError, TypeError, AttributeError)


def fail(code, message):
    print(f"tessera: error: {message}", file=sys.stderr)
    sys.exit(code)


def warn(message):
    print(f"tessera: warning: {message}", file=sys.stderr)


def write_whole(path, data):
    """Writes the file atomically: on failure it keeps its old content or stays absent."""
    place = os.path.realpath(path)
    whole = os.path.isfile(place) or not os.path.exists(place)  # else a pipe or a device
    partial = f"{place}.partial-{os.getpid()}-{secrets.token_hex(4)}" if whole else place
    try:
        if whole:  # O_NOFOLLOW: others may be able to write to the folder
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
        with open(partial, "wb") as file:
            file.write(data)
        if whole:
            os.replace(partial, place)
    except BaseException as error:
        if whole and os.path.exists(partial):
            os.remove(partial)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, path) from error
        raise


def end_with_the_pipe():
    """Lets a closed output pipe (head, less) end the program silently."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.excepthook = end_with_ctrl_c


def end_with_ctrl_c(kind, error, trace):
    """Ends by SIGINT without a traceback: the parent program has printed the message."""
    if not issubclass(kind, KeyboardInterrupt):
        return sys.__excepthook__(kind, error, trace)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return os.kill(os.getpid(), signal.SIGINT)


def command(main):
    """Decorates a main function to end with a one-line error if the output cannot be written or
    results have an unknown structure. Python's default exit code 1 would be a verdict of compare.
    """
    @functools.wraps(main)
    def guarded(words=None):
        try:
            code = main(words)
            sys.stdout.flush()
            return code
        except OSError as error:
            if error.filename:
                fail(73, f"'{error.filename}' cannot be written ({error.strerror}); free "
                         f"space, or name another file")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards what Python flushes at exit
            fail(74, f"standard output cannot be written ({error.strerror}); redirect it elsewhere")
        except BROKEN as error:
            fail(65, f"results have an unknown structure ({type(error).__name__}: {error}); give "
                     f"files written by --results")
        finally:
            answer.write()
    return guarded


def split(word):
    """Returns (file, run) of "file.h5#run"; the run is "" if not named. An existing file whose name
    contains a # is a file."""
    if os.path.exists(word) or "#" not in word:
        return word, ""
    file, _, run = word.rpartition("#")
    return file, run


def read(path, *readers):
    """Returns what each of the reader functions reads from the file."""
    if not os.path.exists(path):
        fail(66, f"file '{path}' does not exist; check the path")
    try:
        return [reader(path) for reader in readers]
    except BROKEN as error:
        fail(65, f"'{path}' is not a results file ({error}); give one written by --results")


def named(path, name):
    """Returns the name of the run that a name or a number means: 1 is the first, -1 the last; exits
    if the file does not have it. "" means all."""
    def names_of(path):
        with h5py.File(path, "r") as file:
            return [run for run, _ in results.groups_of(file)]
    known, = read(path, names_of)
    if name in ("", *known):
        return name
    number = int(name) if re.fullmatch(r"-?\d+", name) else 0
    if 1 <= abs(number) <= len(known):
        return known[number - 1 if number > 0 else number]
    fail(66, f"'{path}' has no run '{name}': it has {', '.join(known) or 'none'}, or 1 to "
             f"{len(known)} by number")
    return None


def split_run(word):
    """Returns (file, name of the run, "" for all) of "file.h5", "file.h5#run" or "file.h5#number".
    """
    path, name = split(word)
    return path, named(path, name)


def runs(word, needed=True):
    """Returns the runs with finished timings of "file.h5", "file.h5#run" or "file.h5#number"; exits
    if there are none and they are needed."""
    path, name = split_run(word)
    found, = read(path, results.read)
    if name and needed and name not in [run.name for run in found]:
        known = ", ".join(run.name for run in found) or "no run with a finished point"
        fail(66, f"'{path}' has no finished timings in run '{name}': it has {known}")
    found = [run for run in found if name in ("", run.name)]
    if not found and needed:
        fail(65, f"'{path}' holds no finished timings; measure something with --results {path}")
    return found
