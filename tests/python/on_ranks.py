"""mpirun -n ALL python3 on_ranks.py RANKS: tessera.DistArray and tessera.keys against numpy."""

import random
import unittest

from package import numpy, tessera
from part import COMM, MPI, SEED, OnRanks, layouts, run, whole_numbers
from tessera import keys


class Arrays(OnRanks):
    def test_layouts_of_any_dtype_and_dimensions(self):
        record = numpy.dtype([("key", "i4"), ("name", "S9")])  # 13 bytes
        wide = numpy.dtype([("x", "f8", 11)])                  # 88 bytes
        for dtype in ("f8", "u1", "c16", "i2", record, wide):
            for dims in (1, 2, 3, 4):
                shape = [self.rng.randint(0 if self.rng.random() < 0.1 else 1, 40 // dims)
                         for _ in range(dims)]
                size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
                whole = self.values.integers(0, 4, size, "u1").view(dtype).reshape(shape)
                array = self.placed(whole)
                self.check(array, whole)
                to = layouts(self.rng, dims, COMM.size)
                self.check(array.redistribute(to), whole)
                self.check(array.T, whole.T)
                axes = self.rng.sample(range(dims), dims)
                self.check(array.transpose(axes), whole.transpose(axes))
                self.check(array.transpose(axes, to), whole.transpose(axes))
                root = self.rng.randrange(COMM.size)
                got = array.to_numpy(root)
                self.assertEqual(got is None, COMM.rank != root)
                if got is not None:
                    numpy.testing.assert_array_equal(got, whole)

    def test_the_share_is_the_callers_memory(self):
        array = tessera.DistArray((17, 5), "f4", COMM)
        share = array.local
        share += COMM.rank
        self.assertIs(array.local, share)
        again = tessera.DistArray.from_local(share, (17, 5), COMM)
        self.assertIs(again.local, share)
        self.assertTrue(numpy.shares_memory(array.T.local, share))
        self.assertEqual(COMM.allreduce(share.size), 85)

    def test_products(self):
        for dtype in ("f2", "f4", "f8", "c8", "c16"):
            for _ in range(6):
                m, k, n = (self.rng.choice([0, 1, 7, 40, 65]) for _ in range(3))
                a, b = (whole_numbers(self.values, s, dtype) for s in ((m, k), (k, n)))
                x, y = self.placed(a), self.placed(b)
                self.check(x @ y, a @ b)
                self.check(x.matmul(y, layout=layouts(self.rng, 2, COMM.size)), a @ b)
                self.check(y.T @ x.T, b.T @ a.T)
        mixed = self.placed(whole_numbers(self.values, (4, 6), "i4"))
        square = whole_numbers(self.values, (6, 6), "f4")
        self.check(mixed @ self.placed(square), numpy.asarray(mixed) @ square.astype("f8"))

    def test_shares_of_one_row_are_in_either_order(self):
        for rows, cols in ((2 * COMM.size - 1, 7), (COMM.size, 3), (3 * COMM.size, COMM.size)):
            whole = whole_numbers(self.values, (rows, cols), "f8")
            square = whole_numbers(self.values, (cols, cols), "f8")
            even = tessera.DistArray.from_numpy(whole, COMM)
            array = tessera.DistArray.from_local(numpy.asfortranarray(even.local), whole.shape,
                                                 COMM)
            for layout in (0, 1, "grid", "all"):
                self.check(array.redistribute(layout), whole)
                self.check(array.transpose(None, layout), whole.T)
                self.check(array.matmul(tessera.DistArray.from_numpy(square, COMM, layout=1)),
                           whole @ square)
            self.check(array.T @ even, whole.T @ whole)
        if COMM.size > 1:
            even = tessera.DistArray((2 * COMM.size, 4), comm=COMM)
            mixed = numpy.zeros((2, 4), order="F" if COMM.rank == 0 else "C")
            array = tessera.DistArray.from_local(mixed, even.shape, COMM)
            with self.assertRaisesRegex(ValueError, "on all ranks: must be in one"):
                array.redistribute(1)

    def test_sorts_and_takes(self):
        for dtype in ("i4", "i8", "u4", "u8", "f4", "f8", "i1", "i2", "u1", "u2", "f2", "?", ">i2",
                      ">f8"):
            for n in (0, 1, 5, 1000, 20_011) if dtype[1:] in ("4", "8") else (5, 1000):
                least = 0 if dtype[0] in "u?" else -n // 4
                keys = self.values.integers(least, 1 + n // 4, n).astype(dtype)
                if "f" in dtype:
                    keys[::7] = numpy.nan
                for descending in (False, True):
                    array = self.placed(keys)
                    order = array.argsort(descending)
                    numbers = keys.astype("f8")
                    expected = numpy.argsort(-numbers if descending else numbers, kind="stable")
                    self.check(order, expected)
                    payload = self.values.integers(0, 9, (n, 3), "i2")
                    self.check(self.placed(payload).take(order), payload[expected])
                    array.sort(descending)
                    self.check(array, keys[expected])
        rows = self.values.standard_normal((50, 2, 3))
        mine = numpy.random.default_rng(COMM.rank).integers(0, 50, 10 * COMM.rank)
        numpy.testing.assert_array_equal(self.placed(rows).take(mine), rows[mine])

    def test_stencils_and_fields(self):
        for shape, dtype in ((101, "f8"), ((40, 31), "f4"), ((17, 16, 15), "f8"), ((19, 31), "f2")):
            u = self.values.standard_normal(shape).astype(dtype)
            for arguments in ({}, {"boundary": "wrap"}, {"boundary": "constant", "value": 2.5},
                              {"weights": self.values.standard_normal((3,) * u.ndim)}):
                got = numpy.asarray(self.placed(u).stencil(3, **arguments))
                numpy.testing.assert_array_equal(got, tessera.stencil(u, 3, **arguments))
        field = tessera.Field((40, 31), comm=COMM, boundary="wrap", steps=1)
        expected = numpy.zeros((40, 31))
        source = self.values.standard_normal((40, 31))
        for _ in range(5):
            field.local[...] += source[field.box]
            field.advance()
            expected = tessera.stencil(expected + source, 1, boundary="wrap")
        numpy.testing.assert_array_equal(field.local, expected[field.box])
        self.check(field.array(1), expected)


def wrong_calls():
    """Returns exception, words and call, wrong in the same way on all ranks."""
    make = tessera.DistArray
    a = make((6, 4), comm=COMM)
    v = make(9, comm=COMM)
    return [
        (ValueError, "shape is ()", lambda: make((), comm=COMM)),
        (ValueError, "shape is (3, -1)", lambda: make((3, -1), comm=COMM)),
        (TypeError, "shape is 2.5", lambda: make(2.5, comm=COMM)),
        (ValueError, "more elements than 64 bits", lambda: make((2**40, 2**40), comm=COMM)),
        (TypeError, "Python objects", lambda: make(3, object, COMM)),
        (TypeError, "layout is 'rows'", lambda: make(3, comm=COMM, layout="rows")),
        (ValueError, "layout is 2", lambda: make((3, 3), comm=COMM, layout=2)),
        (ValueError, "grid has 1 axes", lambda: make((3, 3), comm=COMM, layout=(1,))),
        (ValueError, "grid", lambda: make((3, 3), comm=COMM, layout=(COMM.size + 1, 1))),
        (ValueError, "block must have numbers",
         lambda: make(3, comm=COMM, layout=tessera.Layout((1,), (0,)))),
        (ValueError, "ranks has", lambda: make(3, comm=COMM, layout=tessera.Layout(
            (1,), owners=(COMM.size,)))),
        (ValueError, "axes is", lambda: a.transpose((0, 0))),
        (ValueError, "b has shape", lambda: a @ a),
        (TypeError, "b is of type", lambda: a @ numpy.zeros((4, 4))),
        (ValueError, "a has 2 and b 1", lambda: a @ v),
        (TypeError, "a has dtype int64",
         lambda: make((3, 3), int, COMM) @ make((3, 3), int, COMM)),
        (ValueError, "has 2 dimensions", lambda: a.sort()),
        (TypeError, "has dtype complex64", lambda: make(3, "c8", COMM).argsort()),
        (ValueError, "permutation has", lambda: v.take(numpy.array([9]))),
        (TypeError, "numbers must be", lambda: v.take(numpy.array([0.5]))),
        (FileNotFoundError, "no.h5", lambda: make.from_h5("no.h5:/x", COMM)),
        (ValueError, "name is 'x.h5'", lambda: a.to_h5("x.h5")),
        (OSError, "/no/folder", lambda: a.to_h5("/no/folder/x.h5:/x")),
        (ValueError, "local has shape", lambda: make.from_local(numpy.zeros((99, 4)), (6, 4),
                                                                COMM)),
        (TypeError, "local is of type", lambda: make.from_local([1], 1, COMM)),
        (ValueError, "array is None", lambda: make.from_numpy(None, COMM)),
        (ValueError, "root is -1", lambda: make.from_numpy([1], COMM, root=-1)),
        (ValueError, "kernel|stencil|heart", lambda: v.stencil(1, kernel="heart")),
        (ValueError, "boundary", lambda: v.stencil(1, boundary="wrab")),
        (ValueError, "steps", lambda: v.stencil(-1)),
        (TypeError, "dtype is int64", lambda: make(3, int, COMM).stencil(1)),
        (ValueError, "weights has 1", lambda: a.stencil(1, weights=[1, 2, 1])),
    ]


class SortedKeys(unittest.TestCase):
    """tessera.keys against numpy, on uneven shares."""

    def setUp(self):
        self.rng, self.choices = numpy.random.default_rng(SEED), random.Random(SEED)

    def made(self):
        """Returns sorted keys, this rank's part of them, and values to search, of one dtype."""
        dtype = self.choices.choice(["i4", "i8", "u4", "u8", "f4", "f8", "i1", "i2", "u1", "u2",
                                     "f2", "?"])
        n = self.choices.choice([0, 1, 30, 5000])
        whole = self.rng.integers(0, self.choices.choice([1, 7, 10000]), n).astype(dtype)
        if dtype[0] == "f":
            whole[::5] = numpy.nan
            whole[whole == 0] *= -1
        whole.sort()
        borders = sorted(self.choices.randint(0, n) for _ in range(COMM.size - 1))
        if self.choices.random() < 0.3:
            borders = [n] * (COMM.size - 1)  # all on the first rank
        borders = [0, *borders, n]
        values = self.rng.integers(0, 50, (COMM.size, 40)).astype(dtype)
        return (whole, whole[borders[COMM.rank]:borders[COMM.rank + 1]],
                values[COMM.rank, :self.choices.choice([0, 40])])

    def test_against_numpy(self):
        for _ in range(40):
            whole, mine, values = self.made()
            for side in ("left", "right"):
                numpy.testing.assert_array_equal(keys.searchsorted(mine, values, COMM, side),
                                                 numpy.searchsorted(whole, values, side))
            first = int(COMM.exscan(len(mine)) or 0)
            found, counts = keys.unique(mine, COMM, return_counts=True)
            every = [numpy.concatenate(COMM.allgather(x)) for x in (found, counts)]
            for got, want in zip(every, numpy.unique(whole, return_counts=True)):
                numpy.testing.assert_array_equal(got, want)
            begins, end = keys.group_boundaries(mine, COMM)
            numpy.testing.assert_array_equal(numpy.diff(numpy.append(begins, end)), counts)
            numpy.testing.assert_array_equal(mine[begins - first], found)

    def test_descending(self):
        mine = -numpy.repeat(numpy.arange(3), 2) - 2.0 * COMM.rank  # 0 0 -1 -1 -2 -2 | -2 -2 ...
        found, counts = keys.unique(mine, COMM, return_counts=True, descending=True)
        every = [numpy.concatenate(COMM.allgather(x)) for x in (found, counts)]
        numpy.testing.assert_array_equal(every[0], -numpy.arange(2 * COMM.size + 1))
        self.assertEqual(every[1].tolist(),
                         [4 if 0 < k < 2 * COMM.size and k % 2 == 0 else 2
                          for k in range(2 * COMM.size + 1)])
        self.assertEqual(keys.searchsorted(mine, [-0.5, 9], COMM, descending=True).tolist(), [2, 0])

    def test_wrong_calls(self):
        last = COMM.rank == COMM.size - 1
        good = numpy.full(3, COMM.rank)
        for kind, words, call in (
                (ValueError, "sorted is not in the order",
                 lambda: keys.unique(good[::-1] - numpy.arange(3), COMM)),
                (ValueError, "sorted is not in the order",
                 lambda: keys.group_boundaries(numpy.array([3, 1]) if last else good, COMM)),
                (ValueError, "sorted has 2 dimensions",
                 lambda: keys.unique(good[:, None] if last else good, COMM)),
                (TypeError, "sorted has dtype complex128",
                 lambda: keys.unique(good * 1j if last else good, COMM)),
                (TypeError, "values has dtype float64",
                 lambda: keys.searchsorted(good, numpy.ones(2) if last else good, COMM)),
                (ValueError, "side is 'middle'",
                 lambda: keys.searchsorted(good, good, COMM, "middle" if last else "left"))):
            with self.subTest(words=words):
                with self.assertRaises(kind) as raised:
                    call()
                self.assertIn(words, str(raised.exception))
                self.assertEqual(len(set(COMM.allgather(str(raised.exception)))), 1)


class WrongCalls(unittest.TestCase):
    def test_on_all_ranks(self):
        for kind, words, call in wrong_calls():
            with self.subTest(words=words):
                with self.assertRaises(kind) as raised:
                    call()
                text = str(raised.exception)
                self.assertRegex(text, words.replace("(", r"\(").replace(")", r"\)"))
                self.assertEqual(COMM.allgather((type(raised.exception), text)),
                                 [(type(raised.exception), text)] * COMM.size)

    def test_on_one_rank_alone(self):
        """The other ranks raise the exception of that one, and none waits."""
        array = tessera.DistArray((6, 4), comm=COMM)
        last = COMM.rank == COMM.size - 1
        calls = [(TypeError, "layout is 'x'", lambda: array.redistribute("x" if last else 0)),
                 (TypeError, "b is of type list",
                  lambda: array.matmul([1] if last else array.T)),
                 (ValueError, "axes is", lambda: array.transpose((1, 1) if last else (1, 0))),
                 (FileNotFoundError, "no.h5", lambda: tessera.DistArray.from_h5(
                     "no.h5:/x", COMM)),
                 (ValueError, "local has shape", lambda: tessera.DistArray.from_local(
                     array.local[:0, :1] if last else array.local, (6, 4), COMM))]
        if COMM.size > 1:
            calls.append((ValueError, "arguments differ",
                          lambda: tessera.DistArray(7 if last else 8, comm=COMM)))
        for kind, words, call in calls:
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(words, str(raised.exception))
            self.assertEqual(len(set(COMM.allgather(str(raised.exception)))), 1)

    def test_communicators(self):
        for comm in (3, "world", numpy.zeros(1)):
            with self.assertRaisesRegex(TypeError, "comm is of type"):
                tessera.DistArray(3, comm=comm)
        with self.assertRaisesRegex(ValueError, "comm is MPI_COMM_NULL"):
            tessera.DistArray(3, comm=MPI.COMM_NULL)
        one, other = tessera.DistArray((3, 3), comm=COMM), tessera.DistArray((3, 3),
                                                                            comm=MPI.COMM_SELF)
        with self.assertRaisesRegex(ValueError, "b is on another communicator"):
            one.matmul(other)


if __name__ == "__main__":
    run()
