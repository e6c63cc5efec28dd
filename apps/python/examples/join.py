#!/usr/bin/env python3
"""A merge join of two tables by their keys: mpirun -n 4 python3 join.py

Sorts both tables by key, with their rows as payload; each rank then takes the rows of the right
table whose keys are in the range of its share of the left one, and joins them locally. Prints the
number of joined rows, and checks them against a join of the whole tables."""

import sys

import numpy
import tessera
from mpi4py import MPI

comm = MPI.COMM_WORLD
record = numpy.dtype([("key", "i8"), ("value", "f8")])


def table(rows, factor, keys):
    made = tessera.DistArray(rows, record, comm)
    made.local["key"] = made.indices(0) * factor % keys
    made.local["value"] = made.indices(0)
    return made


def by_key(rows):
    keys = tessera.DistArray(rows.shape, "i8", comm)
    keys.local[...] = rows.local["key"]
    return rows.take(keys.argsort())


def joined(left, right):
    """Returns the pairs of values with equal keys of two sorted tables."""
    first = numpy.searchsorted(right["key"], left["key"], "left")
    count = numpy.searchsorted(right["key"], left["key"], "right") - first
    own = numpy.repeat(numpy.arange(len(left)), count)
    other = numpy.arange(len(own)) - numpy.repeat(numpy.cumsum(count) - count, count) + first[own]
    return numpy.stack([left["value"][own], right["value"][other]], axis=1)


left, right = by_key(table(5000, 7, 1013)), by_key(table(3001, 5, 907))
here = left.local["key"]
ends = comm.allgather((here[0], here[-1]) if len(here) else (0, -1))
low = comm.allreduce(numpy.searchsorted(right.local["key"], [a for a, _ in ends], "left"))
high = comm.allreduce(numpy.searchsorted(right.local["key"], [b for _, b in ends], "right"))
pairs = joined(left.local, right.take(numpy.arange(low[comm.rank], high[comm.rank])))

expected = joined(numpy.asarray(left), numpy.asarray(right))
got = numpy.concatenate(comm.allgather(pairs))
if comm.rank == 0:
    print(f"{len(got)} joined rows")
sys.exit(not numpy.array_equal(got, expected))
