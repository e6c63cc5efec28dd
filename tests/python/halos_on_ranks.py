"""mpirun -n ALL python3 halos_on_ranks.py RANKS: tessera.HaloPlan against numpy.pad, of fields of
numpy and, where there is a GPU or its emulation, in its memory (tensors.py)."""

import unittest

from package import numpy, tessera
from part import COMM, OnRanks, run
from tensors import GPU, OnGpu

MODES = {"nearest": "edge", "wrap": "wrap", "mirror": "reflect", "reflect": "symmetric",
         "constant": "constant"}
DTYPES = ("f8", "f4", "f2", "c16", "c8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


class Halos(OnRanks):
    def grid(self, dims):
        """Returns random parts of each axis."""
        parts = [1] * dims
        for _ in range(2):
            axis = self.rng.randrange(dims)
            others = int(numpy.prod(parts)) // parts[axis]
            parts[axis] = self.rng.randint(1, COMM.size // others)
        return parts

    def fields_of(self, plan, whole, is_dense):
        """Returns a field of the host whose box has the elements of the whole one."""
        shape = plan.local_shape
        room = numpy.full([2 * n + 1 for n in shape[::-1]], 99, plan.dtype).T
        field = numpy.full(shape, 99, plan.dtype) if is_dense else room[tuple(
            slice(1, 2 * n, 2) for n in shape)]
        if field.size:
            field[plan.inner] = whole[plan.box]
        return field

    def exchange_at_random(self, place, read):
        """Executes plans twice on fields that place() brings to where read() reads them."""
        for _ in range(40):
            dims, fields = self.rng.randint(1, 3), self.rng.randint(1, 2)
            parts = self.grid(dims)
            widths = [self.rng.randint(0, 3) for _ in parts]
            shape = [p * (1 + w) + self.rng.randint(1, 4) for p, w in zip(parts, widths)]
            boundary, dtype = self.rng.choice(list(MODES)), self.rng.choice(DTYPES)
            is_dense = self.rng.random() < 0.5
            plan = tessera.HaloPlan(shape, widths, dtype, COMM, grid=self.rng.choice([parts, None]),
                                    boundary=boundary, value=7, fields=fields)
            for _ in range(2):
                whole = [self.values.integers(0, 99, shape).astype(dtype) for _ in range(fields)]
                there = [place(self.fields_of(plan, w, is_dense)) for w in whole]
                plan.execute(*there)
                for w, field in zip(whole, there):
                    more = {"constant_values": 7} if boundary == "constant" else {}
                    around = numpy.pad(w, [(n, n) for n in widths], MODES[boundary], **more)
                    want = around[tuple(slice(b.start, b.stop + 2 * n)
                                        for b, n in zip(plan.box, widths))]
                    if 0 not in plan.local_shape:
                        numpy.testing.assert_array_equal(read(field), want)
            self.assertGreaterEqual(plan.nbytes, 0)

    def test_fields_of_the_host(self):
        self.exchange_at_random(lambda field: field, lambda field: field)

    @unittest.skipUnless(GPU, "no GPU that this build can use, or neither cupy nor torch")
    def test_fields_on_a_gpu(self):
        self.exchange_at_random(*GPU)

    def test_neighbours_get_the_points_of_start(self):
        plan = tessera.HaloPlan(2 * COMM.size, 1, int, COMM, grid=[COMM.size], boundary="wrap")
        u = numpy.array([-1, 2 * COMM.rank, 2 * COMM.rank + 1, -1])
        plan.start(u)
        if COMM.size > 1:
            u[plan.inner] = 50
        plan.wait()
        self.assertEqual([u[0], u[-1]], [(2 * COMM.rank - 1) % (2 * COMM.size),
                                         (2 * COMM.rank + 2) % (2 * COMM.size)])

    def wrong(self, kind, words, call):
        with self.subTest(words=words):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(words, str(raised.exception))
            self.assertEqual(len(set(COMM.allgather(str(raised.exception)))), 1)

    def test_wrong_calls(self):
        last = COMM.rank == COMM.size - 1
        plan = tessera.HaloPlan((3 * COMM.size, 4), 1, float, COMM, grid=(COMM.size, 1))
        good = numpy.ones((5, 6))
        fixed = numpy.ones((5, 6))
        fixed.flags.writeable = False
        for kind, words, bad in (
                (ValueError, "fields[0] has shape (3, 4)", numpy.ones((3, 4))),
                (ValueError, "dtype float32", numpy.ones((5, 6), "f4")),
                (ValueError, "fields[0] has strides", numpy.ones((5, 6))[::-1]),
                (ValueError, "fields[0] is read-only", fixed),
                (TypeError, "fields[0] is of type list", [1])):
            self.wrong(kind, words, lambda: plan.start(bad if last else good))
        self.wrong(ValueError, "2 fields are given", lambda: plan.start(good, good))
        self.wrong(ValueError, "not started", plan.wait)
        plan.start(good)
        self.wrong(ValueError, "is started", lambda: plan.start(good))
        plan.wait()
        for kind, words, call in (
                (ValueError, "widths has 3",
                 lambda: tessera.HaloPlan((4, 4), (1, 1, 1), comm=COMM)),
                (TypeError, "widths is 'x'", lambda: tessera.HaloPlan((4, 4), "x", comm=COMM)),
                (ValueError, "widths", lambda: tessera.HaloPlan(4 * COMM.size, 5, comm=COMM,
                                                                grid=(COMM.size,))
                 if COMM.size > 1 else tessera.HaloPlan(4, -1, comm=COMM)),
                (ValueError, "grid has 1", lambda: tessera.HaloPlan((4, 4), 1, comm=COMM,
                                                                    grid=[1])),
                (ValueError, "boundary", lambda: tessera.HaloPlan(4, 1, comm=COMM,
                                                                  boundary="wrab")),
                (TypeError, "dtype is bool", lambda: tessera.HaloPlan(4, 1, bool, COMM)),
                (TypeError, "dtype is >f8", lambda: tessera.HaloPlan(4, 1, ">f8", COMM)),
                (TypeError, "dtype is >f8", lambda: tessera.Field(9, ">f8", COMM)),
                (ValueError, "fields", lambda: tessera.HaloPlan(4, 1, comm=COMM, fields=0))):
            self.wrong(kind, words, call)

    def test_wrong_places(self):
        last = COMM.rank == COMM.size - 1
        plan = tessera.HaloPlan((3 * COMM.size, 4), 1, float, COMM, grid=(COMM.size, 1), fields=2)
        host = numpy.ones((5, 6))
        there = OnGpu(host)
        self.wrong(TypeError, "fields[0] is in the memory of the host",
                   lambda: plan.start(host, there if last or COMM.size == 1 else host))
        if GPU is None:
            self.wrong(TypeError, "which this tessera cannot use", lambda: plan.start(there, there))
            return
        if COMM.size > 1:
            self.wrong(ValueError, "arguments differ",
                       lambda: plan.start(*[GPU[0](host) if last else host] * 2))
        plan.execute(GPU[0](host), GPU[0](host))
        plan.execute(host, host)


if __name__ == "__main__":
    run()
