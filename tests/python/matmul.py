"""tessera.matmul against numpy: shapes, dtypes, layouts, vectors, out, threads.

Matrices of small whole numbers have exact products; others are compared within the bound of a dot
product summed in any order, |C - C'| <= 2 (k + 3) u |A| |B| (Higham 2002, 3.5), four times that for
complex numbers."""

import unittest

from package import THREADS, generator, numpy, placed, tessera

DTYPES = (numpy.float32, numpy.float64, numpy.complex64, numpy.complex128)
TAKEN = (*DTYPES, numpy.float16)
SHAPES = [  # m, k, n
    (0, 0, 0), (0, 3, 5), (4, 0, 5), (4, 3, 0), (1, 1, 1), (1, 7, 1), (5, 1, 3), (64, 64, 64),
    (63, 65, 127), (1, 300, 400), (300, 400, 1), (31, 2053, 5), (257, 129, 255), (701, 2, 3)]


def draw(values, shape, dtype):
    x = values.standard_normal(shape)
    if numpy.issubdtype(dtype, numpy.complexfloating):
        x = x + 1j * values.standard_normal(shape)
    return x.astype(dtype)


def whole(values, shape, dtype):
    """Returns whole numbers of -8 to 8: sums of 2000 of their products are exact in float32."""
    return values.integers(-8, 9, shape).astype(dtype)


class Matmul(unittest.TestCase):
    def check(self, c, a, b):
        """c is a @ b within the bound, of numpy's shape and dtype."""
        expected = a @ b
        self.assertEqual((numpy.shape(c), c.dtype), (numpy.shape(expected), expected.dtype))
        unit = numpy.finfo(expected.dtype).eps / 2
        bound = 8 * (a.shape[-1] + 3) * unit * (abs(a) @ abs(b))
        self.assertTrue(numpy.all(abs(c - expected) <= bound))

    def test_random_shapes_layouts_and_threads(self):
        values, rng = generator(1)
        for shape in SHAPES + [tuple(int(200 ** rng.random()) for _ in range(3))
                               for _ in range(60)]:
            m, k, n = shape
            for dtype in rng.sample(DTYPES, 2):
                a, b = draw(values, (m, k), dtype), draw(values, (k, n), dtype)
                threads = rng.choice(THREADS)
                with self.subTest(shape=shape, dtype=dtype.__name__, threads=threads):
                    self.check(tessera.matmul(placed(a, rng), placed(b, rng), threads=threads),
                               a, b)

    def test_whole_numbers_are_exact_in_every_layout(self):
        values, rng = generator(2)
        for dtype in DTYPES:
            a, b = whole(values, (61, 143), dtype), whole(values, (143, 77), dtype)
            expected = a @ b
            for _ in range(12):
                got = tessera.matmul(placed(a, rng), placed(b, rng), threads=rng.choice(THREADS))
                numpy.testing.assert_array_equal(got, expected)

    def test_float16_sums_in_float32_and_rounds_once(self):
        values, rng = generator(12)
        for shape in [(1, 1, 1), (7, 300, 5), (61, 143, 77), (33, 4500, 17), (4, 0, 5),
                      (129, 8, 65)]:
            m, k, n = shape
            a, b = draw(values, (m, k), numpy.float16), draw(values, (k, n), numpy.float16)
            exact = a.astype(float) @ b.astype(float)
            of_sum = (k + 2) * 2.0 ** -24 * (abs(a.astype(float)) @ abs(b.astype(float)))
            bound = of_sum + 2.0 ** -11 * (abs(exact) + of_sum) + 2.0 ** -25
            for threads in THREADS:
                with self.subTest(shape=shape, threads=threads):
                    c = tessera.matmul(placed(a, rng), placed(b, rng), threads=threads)
                    self.assertEqual((c.shape, c.dtype), ((m, n), numpy.float16))
                    self.assertTrue(numpy.all(abs(c.astype(float) - exact) <= bound))
            wide = tessera.matmul(a.astype(numpy.float32), b.astype(numpy.float32))
            numpy.testing.assert_array_equal(tessera.matmul(a, b), wide.astype(numpy.float16))
        room = numpy.full((40, 26), 7.5, numpy.float16)
        a, b = whole(values, (37, 29), numpy.float16), whole(values, (29, 23), numpy.float16)
        c = room[1:38, 2:25]
        self.assertIs(tessera.matmul(a, b, out=c), c)
        numpy.testing.assert_array_equal(c, a @ b)
        numpy.testing.assert_array_equal(tessera.matmul(b.T, a.T), (a @ b).T)
        c[...] = 7.5
        self.assertTrue(numpy.all(room == 7.5))
        large = numpy.full((2, 2), 300, numpy.float16)
        self.assertTrue(numpy.all(numpy.isposinf(tessera.matmul(large, large))))

    def test_transposed_operands(self):
        values, _ = generator(3)
        a, b = whole(values, (83, 41), float), whole(values, (59, 83), float)
        numpy.testing.assert_array_equal(tessera.matmul(a.T, b.T), a.T @ b.T)
        numpy.testing.assert_array_equal(tessera.matmul(a.T, a), a.T @ a)
        numpy.testing.assert_array_equal(tessera.matmul(a, a.T), a @ a.T)

    def test_vectors(self):
        values, rng = generator(4)
        matrix = whole(values, (30, 40), float)
        long, short = whole(values, 40, float), whole(values, 30, float)
        for _ in range(20):
            a, x, y = placed(matrix, rng), placed(long, rng), placed(short, rng)
            numpy.testing.assert_array_equal(tessera.matmul(a, x), matrix @ long)
            numpy.testing.assert_array_equal(tessera.matmul(y, a), short @ matrix)
            numpy.testing.assert_array_equal(tessera.matmul(x, x), long @ long)
        scalar = tessera.matmul(long, long)
        self.assertIs(type(scalar), type(long @ long))
        self.assertEqual(tessera.matmul(numpy.zeros(0), numpy.zeros(0)), 0)

    def test_vectors_into_out(self):
        values, _ = generator(5)
        matrix = whole(values, (30, 40), float)
        long, short = whole(values, 40, float), whole(values, 30, float)
        for c in (numpy.full(30, numpy.nan), numpy.full(90, numpy.nan)[::3]):
            self.assertIs(tessera.matmul(matrix, long, out=c), c)
            numpy.testing.assert_array_equal(c, matrix @ long)
        for c in (numpy.full(40, numpy.nan), numpy.full(80, numpy.nan)[::2]):
            self.assertIs(tessera.matmul(short, matrix, out=c), c)
            numpy.testing.assert_array_equal(c, short @ matrix)
        scalar = numpy.array(numpy.nan)
        self.assertIs(tessera.matmul(long, long, out=scalar), scalar)
        self.assertEqual(scalar, long @ long)

    def test_out_in_rows_and_columns_with_untouched_gaps(self):
        values, _ = generator(6)
        a, b = whole(values, (37, 29), float), whole(values, (29, 23), float)
        for order in "CF":
            room = numpy.full((40, 26), 7.5, order=order)
            c = room[1:38, 2:25]
            self.assertIs(tessera.matmul(a, b, out=c), c)
            numpy.testing.assert_array_equal(c, a @ b)
            c[...] = 7.5
            self.assertTrue(numpy.all(room == 7.5))

    def test_dtypes_are_promoted_as_numpy_does(self):
        values, _ = generator(7)
        kinds = [*DTYPES, numpy.int32, numpy.uint8, numpy.bool_, numpy.float16]
        for left in kinds:
            for right in kinds:
                a, b = whole(values, (5, 6), left), whole(values, (6, 7), right)
                common = numpy.result_type(a, b)
                if common in TAKEN:
                    got, expected = tessera.matmul(a, b), a.astype(common) @ b.astype(common)
                    self.assertEqual(got.dtype, expected.dtype)
                    numpy.testing.assert_array_equal(got, expected)
                else:
                    with self.assertRaisesRegex(TypeError, "^a has dtype .* and b "):
                        tessera.matmul(a, b)

    def test_bits_do_not_depend_on_threads_or_layout(self):
        values, _ = generator(8)
        a, b = values.standard_normal((301, 499)), values.standard_normal((499, 277))
        one = tessera.matmul(a, b, threads=1)
        for threads in (2, 3, 4, 7):
            for left in (a, numpy.asfortranarray(a)):
                self.assertEqual(tessera.matmul(left, b, threads=threads).tobytes(),
                                 one.tobytes())

    def test_broadcast_and_nested_lists(self):
        a = numpy.broadcast_to(numpy.arange(4.0), (3, 4))
        numpy.testing.assert_array_equal(tessera.matmul(a, a.T), a @ a.T)
        numpy.testing.assert_array_equal(tessera.matmul([[1.0, 2]], [[3], [4]]), [[11.0]])

    def test_not_finite_numbers(self):
        a = numpy.array([[numpy.inf, 1.0], [numpy.nan, 1.0], [0.0, 1.0]])
        numpy.testing.assert_array_equal(tessera.matmul(a, numpy.eye(2) + 1),
                                         a @ (numpy.eye(2) + 1))


if __name__ == "__main__":
    unittest.main()
