"""tessera.stencil against sums of shifted arrays of numpy, by kernel, boundary and dimension.

Fields and weights of small whole numbers have exact results. Others are compared within 8 units in
the last place of the largest value for each tap and step."""

import itertools
import unittest

from package import THREADS, generator, numpy, placed, tessera

MODES = {"nearest": "edge", "mirror": "reflect", "reflect": "symmetric", "wrap": "wrap",
         "constant": "constant", "reflect101": "reflect", "periodic": "wrap", "clamp": "edge"}


def pad(u, widths, boundary, value):
    if boundary == "constant":
        return numpy.pad(u, widths, constant_values=value)
    return numpy.pad(u, widths, MODES[boundary])


def advance(u, steps, weights, boundary="nearest", value=0.0):
    """Returns the field by sums of shifted copies, in u's dtype."""
    for _ in range(steps):
        room = pad(u, [(n // 2, n - 1 - n // 2) for n in weights.shape], boundary, value)
        total = numpy.zeros_like(u)
        for offset in itertools.product(*map(range, weights.shape)):
            window = tuple(slice(o, o + n) for o, n in zip(offset, u.shape))
            total += u.dtype.type(weights[offset]) * room[window]
        u = total
    return u


def heat(dims):
    weights = numpy.zeros((3,) * dims)
    for d in range(dims):
        at = [1] * dims
        for at[d] in (0, 2):
            weights[tuple(at)] = 0.125
    weights[(1,) * dims] = 1 - 2 * dims * 0.125
    return weights


class Stencil(unittest.TestCase):
    def test_float16_is_rounded_once_a_step(self):
        values, rng = generator(47)
        for shape in ((300,), (37, 41), (7, 9, 33)):
            weights = heat(len(shape))
            u = values.uniform(-1, 1, shape).astype(numpy.float16)
            for steps in (1, 2, 7):
                for threads in THREADS:
                    got = tessera.stencil(placed(u, rng), steps, weights=weights, threads=threads)
                    self.assertEqual((got.shape, got.dtype), (shape, numpy.float16))
                    exact = advance(u.astype(float), steps, weights)
                    # Weights that add up to 1 do not amplify errors of values of at most 1.
                    bound = steps * (2.0 ** -11 + len(shape) * 2.0 ** -21)
                    self.assertLessEqual(abs(got.astype(float) - exact).max(), bound)
            one = advance(u.astype(numpy.float32), 1, weights).astype(numpy.float16)
            got = tessera.stencil(u, 1, weights=weights)
            self.assertLessEqual(abs(got.astype(float) - one.astype(float)).max(), 2.0 ** -10)

    def test_whole_weights_are_exact_at_every_boundary(self):
        values, rng = generator(41)
        for boundary in MODES:
            for dims in (1, 2, 3):
                for _ in range(4):
                    shape = tuple(rng.choice([1, 2, 3, 7, 16, 33]) for _ in range(dims))
                    if boundary in ("wrap", "periodic"):  # numpy.pad wraps once
                        shape = tuple(max(n, 3) for n in shape)
                    box = tuple(rng.choice([1, 2, 3, 5]) for _ in range(dims))
                    weights = values.integers(-2, 3, box)
                    if not weights.any():
                        weights.flat[0] = 1
                    u = values.integers(-4, 5, shape).astype(rng.choice(["f4", "f8"]))
                    steps, value = rng.randrange(4), float(rng.randrange(-3, 4))
                    threads = rng.choice(THREADS)
                    with self.subTest(boundary=boundary, shape=shape, box=box, steps=steps):
                        expected = advance(u, steps, weights, boundary, value)
                        got = tessera.stencil(placed(u, rng), steps, weights=weights,
                                              boundary=boundary, value=value, threads=threads)
                        self.assertEqual(got.dtype, u.dtype)
                        # float32 holds whole numbers of up to 2^24
                        if u.dtype == "f8" or abs(expected).max() < 2**20:
                            numpy.testing.assert_array_equal(got, expected)

    def test_heat_by_name(self):
        values, _ = generator(42)
        for dims, shape in ((1, (1001,)), (2, (61, 83)), (3, (17, 23, 31))):
            for dtype in ("f4", "f8"):
                u = values.random(shape).astype(dtype)
                got = tessera.stencil(u, 12)
                expected = advance(u, 12, heat(dims))
                bound = 8 * 12 * (2 * dims + 1) * numpy.finfo(dtype).eps
                self.assertLess(abs(got - expected).max(), bound)

    def test_life(self):
        u = (generator(43)[0].random((37, 41)) < 0.4).astype("f8")
        expected = u
        for _ in range(9):
            near = advance(expected, 1, numpy.ones((3, 3)), "wrap") - expected
            expected = ((near == 3) | ((near == 2) & (expected == 1))).astype("f8")
        numpy.testing.assert_array_equal(
            tessera.stencil(u, 9, kernel="life", boundary="wrap"), expected)

    def test_large_fields_are_the_same_for_any_threads_and_split_of_steps(self):
        u = generator(44)[0].random((700, 1100))
        one = tessera.stencil(u, 20, boundary="reflect", threads=1)
        for threads in (2, 3):
            self.assertEqual(tessera.stencil(u, 20, boundary="reflect", threads=threads).tobytes(),
                             one.tobytes())
        half = tessera.stencil(u, 7, boundary="reflect")
        self.assertEqual(tessera.stencil(half, 13, boundary="reflect").tobytes(), one.tobytes())

    def test_empty_fields_and_no_steps(self):
        for shape in ((0,), (0, 5), (5, 0), (3, 0, 2)):
            self.assertEqual(tessera.stencil(numpy.zeros(shape), 3).shape, shape)
        u = generator(45)[0].random((9, 7))
        got = tessera.stencil(u[::-1, ::2], 0)
        numpy.testing.assert_array_equal(got, u[::-1, ::2])
        self.assertFalse(numpy.shares_memory(got, u))

    def test_out_and_in_place(self):
        u = generator(46)[0].integers(-4, 5, (8, 9)).astype("f8")
        expected = advance(u, 3, heat(2))
        room = numpy.full(74, 7.5)
        v = room[1:73].reshape(8, 9)
        self.assertIs(tessera.stencil(u, 3, out=v), v)
        numpy.testing.assert_allclose(v, expected, rtol=1e-13, atol=1e-13)
        self.assertEqual([room[0], room[-1]], [7.5, 7.5])
        self.assertIs(tessera.stencil(u, 3, out=u), u)
        numpy.testing.assert_array_equal(u, v)


if __name__ == "__main__":
    unittest.main()
