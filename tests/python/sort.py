"""tessera.sort and tessera.argsort against numpy: dtypes, NaN, ties, layouts, out, threads."""

import unittest

from package import THREADS, generator, numpy, placed, tessera

DTYPES = ("i4", "i8", "u4", "u8", "f4", "f8", "i1", "i2", "u1", "u2", "f2")
SIZES = (0, 1, 2, 3, 31, 32, 33, 1000, 4099, 65536, 100_003, 400_009)


def draw(values, rng, n, dtype):
    """Returns keys of one of the kinds that sorts treat differently."""
    dtype = numpy.dtype(dtype)
    kind = rng.choice(["bits", "few", "sorted", "reversed", "equal", "nearly", "normal"])
    if kind == "few":
        return values.integers(0, 7, n).astype(dtype)
    if kind == "equal":
        return numpy.full(n, 3, dtype)
    if kind == "normal":
        numbers = values.standard_normal(n) * (1000 if dtype.itemsize > 2 else 20)
        return numbers.astype("i4").astype(dtype) if dtype.kind in "iu" else numbers.astype(dtype)
    keys = numpy.frombuffer(values.bytes(n * dtype.itemsize), dtype).copy()
    if kind == "bits":  # with NaN of all payloads and signs, denormals and infinities
        return keys
    keys = numpy.sort(keys)
    if kind == "nearly" and n > 10:
        keys[[n // 3, n // 2]] = keys[[n // 2, n // 3]]
    return keys[::-1].copy() if kind == "reversed" else keys


def descending(a):
    """Returns numpy's stable order of falling keys, with NaN last."""
    numbers = numpy.flatnonzero(a == a)
    order = numbers[::-1][numpy.argsort(a[numbers][::-1], kind="stable")][::-1]
    return numpy.concatenate([order, numpy.flatnonzero(a != a)]).astype(numpy.int64)


class Sort(unittest.TestCase):
    def cases(self, *words):
        values, rng = generator(*words)
        for dtype in DTYPES:
            for n in SIZES:
                a = draw(values, rng, n, dtype)
                threads = rng.choice(THREADS)
                with self.subTest(dtype=dtype, n=n, threads=threads):
                    yield a, placed(a, rng), threads

    def test_equals_numpy(self):
        for a, view, threads in self.cases(21):
            got = tessera.sort(view, threads=threads)
            self.assertEqual(got.dtype, a.dtype)
            numpy.testing.assert_array_equal(got, numpy.sort(a))
            # a permutation of the input's bits, NaN and zeros too
            self.assertEqual(numpy.sort(got.view(f"u{a.itemsize}")).tobytes(),
                             numpy.sort(a.view(f"u{a.itemsize}")).tobytes())

    def test_bool(self):
        a = numpy.array([True, False, True, False, False])
        numpy.testing.assert_array_equal(tessera.sort(a), numpy.sort(a))
        self.assertEqual(tessera.sort(a).dtype, bool)
        numpy.testing.assert_array_equal(tessera.argsort(a, descending=True), [0, 2, 1, 3, 4])

    def test_descending(self):
        for a, view, threads in self.cases(22):
            got = tessera.sort(view, descending=True, threads=threads)
            numpy.testing.assert_array_equal(got, a[descending(a)])

    def test_argsort_is_numpys_stable_order(self):
        for a, view, threads in self.cases(23):
            got = tessera.argsort(view, threads=threads)
            self.assertEqual(got.dtype, numpy.int64)
            numpy.testing.assert_array_equal(got, numpy.argsort(a, kind="stable"))

    def test_argsort_descending(self):
        for a, view, threads in self.cases(24):
            numpy.testing.assert_array_equal(
                tessera.argsort(view, descending=True, threads=threads), descending(a))

    def test_zeros_and_nan_are_ties_of_argsort(self):
        values, _ = generator(25)
        for dtype in ("f4", "f8"):
            a = values.choice(numpy.array([0.0, -0.0, numpy.nan, -numpy.nan, 1, -numpy.inf]),
                              50_021).astype(dtype)
            numpy.testing.assert_array_equal(tessera.argsort(a), numpy.argsort(a, kind="stable"))
            numpy.testing.assert_array_equal(tessera.argsort(a, descending=True), descending(a))

    def test_zeros_and_nan_have_a_fixed_order(self):
        a = numpy.array([numpy.nan, 0.0, numpy.inf, -0.0, 0.0, -0.0])
        got = tessera.sort(a)
        self.assertEqual(list(numpy.signbit(got[:4])), [True, True, False, False])
        self.assertTrue(numpy.isnan(got[-1]) and numpy.isinf(got[-2]))

    def test_in_place(self):
        values, rng = generator(26)
        for dtype in DTYPES:
            a = draw(values, rng, 200_003, dtype)
            expected = numpy.sort(a)
            self.assertIs(tessera.sort(a, out=a), a)
            numpy.testing.assert_array_equal(a, expected)

    def test_out(self):
        room = numpy.full(7, -1.0)
        a, c = numpy.array([3.0, 1, 2, 5, 4]), room[1:6]
        self.assertIs(tessera.sort(a, out=c), c)
        numpy.testing.assert_array_equal(room, [-1, 1, 2, 3, 4, 5, -1])
        numpy.testing.assert_array_equal(a, [3, 1, 2, 5, 4])
        order = numpy.full(5, -1)
        self.assertIs(tessera.argsort(a, out=order), order)
        numpy.testing.assert_array_equal(order, [1, 2, 0, 4, 3])

    def test_large_keys_are_the_same_for_any_threads(self):
        values, _ = generator(27)
        a = values.standard_normal(3_000_017)
        expected, order = numpy.sort(a), numpy.argsort(a, kind="stable")
        for threads in (1, 2, 5):
            self.assertEqual(tessera.sort(a, threads=threads).tobytes(), expected.tobytes())
            numpy.testing.assert_array_equal(tessera.argsort(a, threads=threads), order)


if __name__ == "__main__":
    unittest.main()
