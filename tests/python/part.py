"""The frame of tests on ranks, `mpirun -n ALL python3 SCRIPT RANKS`: a sub-communicator of RANKS
ranks runs the tests of a script, while the others exchange messages of their own.

Every rank makes the same random choices."""

import os
import random
import sys
import unittest

from package import SEED, SKIPPED, numpy, tessera

try:
    from mpi4py import MPI
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-mpi4py")
    sys.exit(SKIPPED)

RANKS = int(sys.argv.pop(1))
WORLD = MPI.COMM_WORLD
# Not the first ranks, and in another order than that of the program.
COMM = WORLD.Split(0 if WORLD.rank >= WORLD.size - RANKS else 1, -WORLD.rank)
SEED = COMM.bcast(SEED)


def layouts(rng, dims, ranks):
    """Returns a random layout of an array of that many axes."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(["all", "grid"])
    if kind == 1:
        return rng.randrange(-dims, dims)
    grid = [1] * dims
    for _ in range(3):
        axis = rng.randrange(dims)
        grid[axis] = rng.randint(1, ranks // (numpy.prod(grid, dtype=int) // grid[axis]))
    block = [rng.randint(1, 5) for _ in grid] if kind < 5 else None
    owners = rng.sample(range(ranks), int(numpy.prod(grid))) if kind % 2 else None
    return tessera.Layout(grid, block, owners)


def whole_numbers(values, shape, dtype):
    return values.integers(-8, 9, shape).astype(dtype)


class OnRanks(unittest.TestCase):
    """Rank 0 of the sub-communicator knows the whole arrays."""

    def setUp(self):
        self.rng = random.Random(SEED)
        self.values = numpy.random.default_rng(SEED)

    def placed(self, whole):
        """Returns the array in a random layout, by a random way."""
        layout = layouts(self.rng, whole.ndim, COMM.size)
        if self.rng.random() < 0.3:
            turned = tessera.DistArray.from_numpy(whole.T if COMM.rank == 0 else None, COMM, layout)
            return turned.T
        root = self.rng.randrange(COMM.size)
        return tessera.DistArray.from_numpy(whole if COMM.rank == root else None, COMM, layout,
                                            root)

    def check(self, array, whole):
        """The share is that part of the whole, and the whole can be gathered."""
        numpy.testing.assert_array_equal(array.local, whole[numpy.ix_(*(
            array.indices(d) for d in range(array.ndim)))] if array.local.size else array.local)
        self.assertEqual((array.shape, array.dtype), (whole.shape, whole.dtype))
        numpy.testing.assert_array_equal(numpy.asarray(array), whole)


def others():
    """Exchanges messages among the ranks outside until those inside have finished.

    All of them leave in the same round: one that left by its own Test would be missed by an
    allreduce of those whose Test came a moment before."""
    done = WORLD.Ibarrier()
    total = 0
    while not COMM.allreduce(int(done.Test()), MPI.MIN):
        total = COMM.allreduce(total % 7 + COMM.rank)


def run():
    """Runs the tests of the script on the ranks of COMM and ends the process."""
    if WORLD.rank < WORLD.size - RANKS:
        others()
        sys.exit(0)
    output = sys.stderr if COMM.rank == 0 else open(os.devnull, "w", encoding="utf-8")
    result = unittest.TextTestRunner(output).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    failed = COMM.allgather((result.failures + result.errors)[:1] and
                            (result.failures + result.errors)[0][1])
    if COMM.rank == 0:
        for rank, text in enumerate(failed):
            if text:
                print(f"rank {rank}: {text}", file=sys.stderr)
    WORLD.Ibarrier().Wait()
    sys.exit(1 if any(failed) else 0)
