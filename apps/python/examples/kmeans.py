#!/usr/bin/env python3
"""k-means by products: mpirun -n 4 python3 kmeans.py [STEPS]

Each step computes the scores X C^T of all points, assigns each point to the centroid with the
largest x c - |c|^2 / 2, and sums the points of each centroid as the product A^T X of the
assignments. The points are in known clusters. Prints the centroids."""

import sys

import numpy
import tessera
from mpi4py import MPI

comm = MPI.COMM_WORLD
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10
middles = numpy.array([[0.0, 0.0], [9.0, 0.0], [0.0, 7.0]])
x = tessera.DistArray((999, 2), float, comm)  # points in even shares of rows
number = x.indices(0)
x.local[...] = middles[number % 3] + numpy.stack([numpy.sin(number), numpy.cos(7 * number)], axis=1)

centroids = x.take(numpy.arange(len(middles)))  # the first points, on every rank
for _ in range(steps):
    c = tessera.DistArray.from_local(centroids, centroids.shape, comm, "all")
    nearest = numpy.argmax((x @ c.T).local - (centroids ** 2).sum(axis=1) / 2, axis=1)
    assigned = tessera.DistArray((x.shape[0], len(centroids)), float, comm)
    assigned.local[numpy.arange(len(nearest)), nearest] = 1
    sums = assigned.T.matmul(x, layout="all").local
    centroids = sums / comm.allreduce(assigned.local.sum(axis=0))[:, None]

if comm.rank == 0:
    print(centroids)
sys.exit(not numpy.allclose(centroids, middles, atol=0.1))
