"""tessera.transpose against numpy: axes, element sizes, layouts, out, threads."""

import itertools
import unittest

from package import THREADS, generator, numpy, placed, tessera

DTYPES = ["u1", "i2", "V3", "f4", "f8", "S5", "c16", "V24", "V64", "V65", "V131",
          numpy.dtype([("a", "i1"), ("b", "f8")])]


def draw(values, shape, dtype):
    """Returns an array of random bytes."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=int)) * dtype.itemsize
    return numpy.frombuffer(values.bytes(count), dtype).reshape(shape) if count else \
        numpy.zeros(shape, dtype)


class Transpose(unittest.TestCase):
    def check(self, got, a, axes):
        """got has the bytes of numpy's transpose, and is contiguous."""
        expected = numpy.ascontiguousarray(numpy.transpose(a, axes)).reshape(
            numpy.transpose(a, axes).shape)
        self.assertEqual((got.shape, got.dtype), (expected.shape, a.dtype))
        self.assertTrue(got.flags.c_contiguous)
        self.assertEqual(got.tobytes(), expected.tobytes())

    def test_random_matrices_of_any_element_size(self):
        values, rng = generator(11)
        for dtype in DTYPES:
            for _ in range(12):
                shape = tuple(int(300 ** rng.random()) - rng.randrange(2) for _ in range(2))
                a, threads = draw(values, shape, dtype), rng.choice(THREADS)
                with self.subTest(dtype=str(dtype), shape=shape, threads=threads):
                    view = numpy.array(a) if numpy.dtype(dtype).kind in "VS" else placed(a, rng)
                    self.check(tessera.transpose(view, threads=threads), view, None)

    def test_every_permutation_of_four_axes(self):
        values, rng = generator(12)
        a = draw(values, (5, 1, 7, 6), "f4")
        for axes in itertools.permutations(range(4)):
            self.check(tessera.transpose(a, axes), a, axes)
            negative = [axis - 4 if rng.random() < 0.5 else axis for axis in axes]
            view = placed(a, rng)
            self.check(tessera.transpose(view, negative), view, axes)

    def test_random_axes_of_views(self):
        values, rng = generator(13)
        for _ in range(150):
            rank = rng.randrange(7)
            shape = tuple(rng.choice([0, 1, 2, 3, 5, 8, 9] if rng.random() < 0.1 else
                                     [1, 2, 3, 5, 8, 9]) for _ in range(rank))
            a = draw(values, shape, rng.choice(["u1", "f4", "f8", "c16"]))
            view = placed(a, rng) if rank else a
            view = view.transpose(rng.sample(range(rank), rank))
            axes = tuple(rng.sample(range(rank), rank))
            with self.subTest(shape=shape, strides=view.strides, axes=axes):
                self.check(tessera.transpose(view, axes, threads=rng.choice(THREADS)), view, axes)

    def test_many_axes_that_merge(self):
        a = numpy.arange(2**9).reshape((2,) * 9)
        axes = (4, 5, 6, 7, 8, 0, 1, 2, 3)
        self.check(tessera.transpose(a, axes), a, axes)
        b = numpy.arange(3 * 5).reshape(3, *[1] * 20, 5)
        self.check(tessera.transpose(b), b, None)

    def test_gaps_between_rows_are_read_in_place(self):
        values, _ = generator(14)
        for dtype in ("u1", "f8", "V24", "V65"):
            room = draw(values, (300, 200), dtype)
            view = room[3:290, 5:180]
            self.check(tessera.transpose(view), view, None)
            self.check(tessera.transpose(view.T), view.T, None)
            self.check(tessera.transpose(view, (0, 1)), view, (0, 1))

    def test_large_arrays(self):
        values, _ = generator(15)
        a = draw(values, (1733, 2411), "f8")
        self.check(tessera.transpose(a), a, None)
        b = draw(values, (61, 401, 173), "f4")
        for axes in ((2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
            self.check(tessera.transpose(b, axes), b, axes)

    def test_result_is_a_copy(self):
        a = numpy.arange(5.0)
        b = tessera.transpose(a)
        b[0] = 7
        self.assertEqual(a[0], 0)
        self.assertEqual(tessera.transpose(numpy.array(3.5)), 3.5)

    def test_out(self):
        a = numpy.arange(6.0).reshape(2, 3)
        room = numpy.full(8, -1.0)
        b = room[1:7].reshape(3, 2)
        self.assertIs(tessera.transpose(a, out=b), b)
        numpy.testing.assert_array_equal(room, [-1, 0, 3, 1, 4, 2, 5, -1])


if __name__ == "__main__":
    unittest.main()
