#!/usr/bin/env python3
"""A heat equation with the caller's own code between steps: mpirun -n 4 python3 heat.py [STEPS]

The mode cos(2 pi x / nx) of a periodic field decays by a factor in each step, and a source adds to
it between steps, so that its amplitude is known. Prints the largest difference."""

import sys

import numpy
import tessera
from mpi4py import MPI

comm = MPI.COMM_WORLD
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
ny, nx, source = 64, 96, 0.01
field = tessera.Field((ny, nx), float, comm, kernel="heat", boundary="wrap", steps=1)
mode = numpy.cos(2 * numpy.pi * numpy.arange(nx) / nx)[field.box[1]]  # of this rank's columns

field.local[...] += mode
amplitude = 1.0
factor = 1 - (1 - numpy.cos(2 * numpy.pi / nx)) / 4  # 1/2 here and 1/8 of each of four neighbours
for _ in range(steps):
    field.advance()
    field.local[...] += source * mode
    amplitude = factor * amplitude + source

difference = comm.allreduce(abs(field.local - amplitude * mode).max(initial=0.0), MPI.MAX)
if comm.rank == 0:
    print(f"amplitude {amplitude:.6f}, largest difference {difference:.1e}")
sys.exit(not difference < 1e-12 * max(1, amplitude))
