"""mpirun -n ALL python3 relayouts_on_ranks.py RANKS: tessera.RelayoutPlan against numpy.transpose,
of arrays of numpy and, where there is a GPU or its emulation, in its memory (tensors.py)."""

import unittest

from package import numpy, tessera
from part import COMM, OnRanks, layouts, run
from tensors import GPU, OnGpu

DTYPES = ("f8", "f4", "f2", "c16", "c8", "i1", "u4", "S3", "S24")


class Relayouts(OnRanks):
    def share(self, whole, layout):
        """Returns this rank's share of an array."""
        like = tessera.DistArray(whole.shape, whole.dtype, COMM, layout)
        if 0 in like.local.shape:
            return like.local
        return numpy.ascontiguousarray(whole[numpy.ix_(*map(like.indices, range(whole.ndim)))])

    def relay_at_random(self, place, read):
        """Executes plans twice on arrays that place() brings to where read() reads them."""
        for _ in range(40):
            dims = self.rng.randint(1, 4)
            shape = [self.rng.randint(0 if _ % 4 == 0 else 1, 12 - 2 * dims) for _ in range(dims)]
            axes = self.rng.sample(range(dims), dims) if self.rng.random() < 0.7 else None
            turned = [shape[k] for k in axes or range(dims)]
            source = layouts(self.rng, dims, COMM.size)
            target = layouts(self.rng, dims, COMM.size)
            dtype = self.rng.choice(DTYPES)
            plan = tessera.RelayoutPlan(shape, source, target, dtype, COMM, axes=axes)
            for _ in range(2):
                whole = self.values.integers(0, 99, shape).astype(dtype)
                expected = whole.transpose(axes or range(dims))
                self.assertEqual(list(expected.shape), turned)
                a = place(self.share(whole, source))
                b = place(numpy.zeros(plan.b_shape, dtype))
                plan.execute(a, b)
                numpy.testing.assert_array_equal(read(b), self.share(expected, target))
                numpy.testing.assert_array_equal(read(a), self.share(whole, source))
            self.assertGreaterEqual(plan.nbytes, 0)
            plan.free()
            self.assertEqual(plan.nbytes, 0)

    def test_arrays_of_the_host(self):
        self.relay_at_random(lambda x: x, lambda x: x)

    @unittest.skipUnless(GPU, "no GPU that this build can use, or neither cupy nor torch")
    def test_arrays_on_a_gpu(self):
        self.relay_at_random(*GPU)

    def test_b_is_complete_after_wait(self):
        plan = tessera.RelayoutPlan((3 * COMM.size, 2), 0, 1, int, COMM, axes=(1, 0))
        a = numpy.arange(6).reshape(3, 2) + 6 * COMM.rank
        b = numpy.zeros(plan.b_shape, int)
        plan.start(a, b)
        a[...] = -1
        plan.wait()
        whole = numpy.arange(6 * COMM.size).reshape(-1, 2).T
        numpy.testing.assert_array_equal(b, self.share(whole, 1))

    def wrong(self, kind, words, call):
        with self.subTest(words=words):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(words, str(raised.exception))
            self.assertEqual(len(set(COMM.allgather(str(raised.exception)))), 1)

    def test_wrong_calls(self):
        last = COMM.rank == COMM.size - 1
        plan = tessera.RelayoutPlan((3 * COMM.size, 4), 0, 0, float, COMM)
        good, other = numpy.ones((3, 4)), numpy.ones((3, 4))
        fixed = numpy.ones((3, 4))
        fixed.flags.writeable = False
        for kind, words, a, b in (
                (ValueError, "a has shape (4, 3)", numpy.ones((4, 3)), other),
                (ValueError, "dtype float32", good, numpy.ones((3, 4), "f4")),
                (ValueError, "a is not contiguous", numpy.ones((4, 3)).T, other),
                (ValueError, "b is read-only", good, fixed),
                (ValueError, "b overlaps a", good, good),
                (TypeError, "a is of type list", [1], other)):
            self.wrong(kind, words, lambda: plan.start(a if last else good, b if last else other))
        self.wrong(ValueError, "not started", plan.wait)
        plan.start(good, other)
        self.wrong(ValueError, "is started", lambda: plan.start(good, other))
        self.wrong(ValueError, "is started", plan.free)
        plan.wait()
        for kind, words, call in (
                (ValueError, "axes is", lambda: tessera.RelayoutPlan((4, 4), 0, 0, comm=COMM,
                                                                     axes=(0, 0))),
                (ValueError, "layout is 2", lambda: tessera.RelayoutPlan((4, 4), 2, 0, comm=COMM)),
                (ValueError, "grid has 1", lambda: tessera.RelayoutPlan((4, 4), (1,), 0,
                                                                        comm=COMM)),
                (ValueError, "shape has 7 axes", lambda: tessera.RelayoutPlan((1,) * 7, 0, 0,
                                                                              comm=COMM)),
                (TypeError, "dtype is object", lambda: tessera.RelayoutPlan(4, 0, 0, object,
                                                                            COMM))):
            self.wrong(kind, words, call)

    def test_wrong_places(self):
        last = COMM.rank == COMM.size - 1
        plan = tessera.RelayoutPlan((3 * COMM.size, 4), 0, 0, float, COMM)
        host, result = numpy.ones((3, 4)), numpy.zeros((3, 4))
        there = OnGpu(numpy.ones((3, 4)))
        self.wrong(TypeError, "a is in the memory of the host",
                   lambda: plan.start(host, there if last else result))
        self.wrong(TypeError, "b is in the memory of the host",
                   lambda: plan.start(there if last else host, result))
        if GPU is None:
            self.wrong(TypeError, "which this tessera cannot use",
                       lambda: plan.start(there, OnGpu(result)))
            return
        a, b = GPU[0](host), GPU[0](result)
        if COMM.size > 1:
            self.wrong(ValueError, "arguments differ",
                       lambda: plan.start(*(a, b) if last else (host, result)))
        plan.execute(a, b)
        plan.execute(host, result)
        numpy.testing.assert_array_equal(GPU[1](b), host)
        numpy.testing.assert_array_equal(result, host)
        plan.free()


if __name__ == "__main__":
    run()
