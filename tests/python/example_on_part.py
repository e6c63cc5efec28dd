"""example_on_part.py EXAMPLE RANKS: runs an installed example on the last RANKS ranks, in reverse
order, instead of MPI.COMM_WORLD, while the other ranks compute and send each other messages."""

import math
import runpy
import sys

try:
    from mpi4py import MPI
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DONE, RING = 2, 101  # the latter is one of Tessera's own tags
WORLD = MPI.COMM_WORLD


def others(part):
    """Computes and sends messages until the example is done."""
    total, done = 0.0, False
    while not done:
        total += sum(math.sqrt(i) for i in range(1000))
        part.sendrecv(total, dest=(part.rank + 1) % part.size, sendtag=RING,
                      source=(part.rank - 1) % part.size, recvtag=RING)
        done = part.bcast(part.rank == 0 and WORLD.iprobe(tag=DONE), root=0)
    if part.rank == 0:
        WORLD.recv(tag=DONE)
    return 0


def run(example, part):
    """Returns the exit code of the example, highest of all ranks."""
    MPI.COMM_WORLD = part
    sys.argv = [example]
    code = 0
    try:
        runpy.run_path(example, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return part.allreduce(int(code), op=MPI.MAX)


def main():
    example, ranks = sys.argv[1], int(sys.argv[2])
    first = WORLD.size - ranks
    mine = WORLD.rank >= first
    part = WORLD.Split(int(mine), -WORLD.rank)
    code = run(example, part) if mine else others(part)
    if mine and part.rank == 0 and first > 0:
        WORLD.send(None, dest=first - 1, tag=DONE)
    code = WORLD.allreduce(code, op=MPI.MAX)
    return code


sys.exit(main())
