#!/usr/bin/env python3
"""Principal components of the rows of a dataset: mpirun -n 4 python3 pca.py IN.h5:/X OUT.h5:/scores

Reads the rows in even shares, subtracts the mean, decomposes the covariance (a product of the
transposed matrix, gathered on every rank) and writes the scores, the largest component first.
Without arguments it makes its own data. Prints the variances."""

import os
import sys
import tempfile

import numpy
import tessera
from mpi4py import MPI

comm = MPI.COMM_WORLD
folder = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
if len(sys.argv) > 2:
    source, target = sys.argv[1:3]
else:
    source, target = (os.path.join(folder, name) for name in ("in.h5:/X", "out.h5:/scores"))
    made = tessera.DistArray((301, 4), float, comm)
    made.local[...] = numpy.sin(made.indices(0)[:, None] * [1, 2, 5, 7]) * [1, 5, 2, 3]
    made.to_h5(source)

x = tessera.DistArray.from_h5(source, comm, dtype=float)
x.local[...] -= comm.allreduce(x.local.sum(axis=0)) / x.shape[0]
covariance = x.T.matmul(x, layout="all").local / (x.shape[0] - 1)
variances, vectors = numpy.linalg.eigh(covariance)
order = tessera.argsort(variances, descending=True)
axes = tessera.DistArray.from_numpy(vectors[:, order], comm, layout="grid")
scores = x @ axes
scores.to_h5(target, overwrite=True)

mine = comm.allreduce((scores.local ** 2).sum(axis=0)) / (x.shape[0] - 1)
if comm.rank == 0:
    print("variances", mine)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    os.rmdir(folder)
sys.exit(not numpy.allclose(mine, variances[order]))
