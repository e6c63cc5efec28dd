"""Results files named on a command line, and errors in one line."""
import functools
import os
import secrets
import signal
import sys

import results

# What is raised where a file lacks something or holds it in another form.
BROKEN = (OSError, KeyError, ValueError, IndexError, TypeError, AttributeError)


def fail(code, message):
    print(f"tessera: error: {message}", file=sys.stderr)
    sys.exit(code)


def warn(message):
    print(f"tessera: warning: {message}", file=sys.stderr)


def write_whole(path, data):
    """The file with these bytes: where they cannot all be written it stays as it was, or is not
    there."""
    place = os.path.realpath(path)
    whole = os.path.isfile(place) or not os.path.exists(place)  # else a pipe or a device
    partial = f"{place}.partial-{os.getpid()}-{secrets.token_hex(4)}" if whole else place
    try:
        if whole:  # nobody's link is followed: others may write to the folder, too
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
    """Whoever reads the output (head, less) may stop reading: no error of ours."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.excepthook = end_with_ctrl_c


def end_with_ctrl_c(kind, error, trace):
    """Without a traceback, when what was begun is taken away: the program that started this one has
    said it."""
    if not issubclass(kind, KeyboardInterrupt):
        return sys.__excepthook__(kind, error, trace)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return os.kill(os.getpid(), signal.SIGINT)


def command(main):
    """A main function that ends in one line also where nobody gets its words, or results are in a
    form that shows only where they
    are used. Python's own end, a traceback and exit code 1, would be a verdict of compare."""
    @functools.wraps(main)
    def guarded(words=None):
        try:
            code = main(words)
            sys.stdout.flush()
            return code
        except OSError as error:
            if error.filename:
                fail(73, f"cannot write '{error.filename}' ({error.strerror}); free the place or "
                         f"name another one")
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the end of Python writes what is left
            fail(74, f"cannot write to standard output ({error.strerror}); see where it goes")
        except BROKEN as error:
            fail(65, f"results are in a form that is not known here ({type(error).__name__}: "
                     f"{error}); give files that --results named")
    return guarded


def split(word):
    """(file, run) of "file.h5#run"; the run is "" where none is named. A file whose own name holds
    a # is a file."""
    if os.path.exists(word) or "#" not in word:
        return word, ""
    file, _, run = word.rpartition("#")
    return file, run


def read(path, *readers):
    """What each of these functions reads from the file."""
    if not os.path.exists(path):
        fail(66, f"there is no file '{path}'; check the path")
    try:
        return [reader(path) for reader in readers]
    except BROKEN as error:
        fail(65, f"'{path}' is no results file ({error}); give one that --results named")


def runs(word, needed=True):
    """The runs with finished timings of "file.h5" or "file.h5#run"; none are an error where they
    are needed."""
    path, name = split(word)
    found, = read(path, results.read)
    if name and needed and name not in [run.name for run in found]:
        known = ", ".join(run.name for run in found) or "none with a finished point"
        fail(66, f"'{path}' has no run '{name}'; it has {known}")
    found = [run for run in found if name in ("", run.name)]
    if not found and needed:
        fail(65, f"'{path}' holds no finished timings; measure something with --results {path}")
    return found
