"""What the tests of the Python package share: numpy, the package, and random arrays.

The package is in PYTHONPATH, else in the newest build/*/python. TESSERA_TEST_SEED repeats the
random choices of an earlier run (printed at the start)."""

import glob
import os
import random
import sys

SKIPPED = 77  # the exit code that CTest reports as skipped
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); apt-get install python3-numpy")
    sys.exit(SKIPPED)

if not os.environ.get("PYTHONPATH"):
    built = sorted(glob.glob(os.path.join(ROOT, "build", "*", "python")), key=os.path.getmtime)
    sys.path[:0] = built[-1:]
import tessera  # noqa: E402, F401: after its folder is known, for those that import it

SEED = int(os.environ.get("TESSERA_TEST_SEED") or random.SystemRandom().randrange(10**6))
print(f"TESSERA_TEST_SEED={SEED}")

THREADS = (0, 1, 2, 3)


def generator(*words):
    """Returns numpy's generator and Python's for a test, by the seed."""
    return numpy.random.default_rng([SEED, *words]), random.Random(f"{SEED} {words}")


def placed(x, rng):
    """Returns a view equal to x, in one of the layouts that an array can have."""
    layout = rng.choice(["C", "F", "gaps", "reversed", "steps", "unaligned", "swapped"])
    if layout in "CF":
        return numpy.array(x, order=layout)
    if layout == "swapped":
        return x.astype(x.dtype.newbyteorder(), copy=True)
    if layout == "unaligned":
        room = numpy.empty(x.nbytes + 1, numpy.uint8)
        view = room[1:].view(x.dtype).reshape(x.shape)
    else:
        around = {"gaps": lambda n: n + 3, "reversed": lambda n: n, "steps": lambda n: 2 * n}
        room = numpy.zeros([around[layout](n) for n in x.shape], x.dtype)
        cut = {"gaps": lambda n: slice(1, n + 1), "reversed": lambda n: slice(None, None, -1),
               "steps": lambda n: slice(None, None, 2)}
        view = room[tuple(cut[layout](n) for n in x.shape)]
    view[...] = x
    return view
