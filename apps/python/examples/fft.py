#!/usr/bin/env python3
"""A 3-D Fourier transform with axes permuted between the ranks: mpirun -n 4 python3 fft.py [N]

Each rank transforms the last two axes of its slab, the first axis is exchanged with the last one,
and it transforms that one. Prints the largest difference from numpy.fft.fftn of the whole array."""

import sys

import numpy
import tessera
from mpi4py import MPI

comm = MPI.COMM_WORLD
n = int(sys.argv[1]) if len(sys.argv) > 1 else 24
a = tessera.DistArray((n, n + 1, n + 2), complex, comm)  # slabs of the first axis
x, y, z = numpy.ix_(*(a.indices(axis) for axis in range(3)))
a.local[...] = numpy.sin(3 * x + y * y) + 1j * numpy.cos(x * z)

a.local[...] = numpy.fft.fftn(a.local, axes=(1, 2))
b = a.transpose((2, 1, 0))                               # slabs of the former last axis
b.local[...] = numpy.fft.fft(b.local, axis=2)

x, y, z = numpy.ix_(*map(numpy.arange, a.shape))
expected = numpy.fft.fftn(numpy.sin(3 * x + y * y) + 1j * numpy.cos(x * z))
got = numpy.asarray(b).transpose(2, 1, 0)
difference = abs(got - expected).max()
if comm.rank == 0:
    print(f"largest difference {difference:.1e} of {abs(expected).max():.1e}")
sys.exit(not difference <= 1e-12 * abs(expected).max())
