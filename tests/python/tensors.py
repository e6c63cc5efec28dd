"""Arrays of other libraries: by DLPack and the buffer protocol without a copy; those on a GPU, with
which calls compute there, or which are refused with what to do. Tests on a GPU need cupy or torch,
or the emulation: emulated_gpu.cpp preloaded, and TESSERA_EMULATED_GPU set."""

import array
import importlib
import os
import tracemalloc
import types
import unittest

from package import generator, numpy, tessera


class Tensor:
    """A tensor of the host with DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class OnGpu:
    """What says that it is on a GPU; its address is of the host."""

    def __init__(self, x, device=0, mask=None):
        self.x, self.device, self.mask = x, device, mask

    def __getitem__(self, cut):
        return OnGpu(self.x[cut], self.device)

    @property
    def T(self):
        return OnGpu(self.x.T, self.device)

    @property
    def __cuda_array_interface__(self):
        return {**self.x.__array_interface__, "version": 3, "mask": self.mask}

    def __dlpack_device__(self):
        return 2, self.device


class Elsewhere:
    """A tensor of a device without __cuda_array_interface__."""

    def __init__(self, kind):
        self.kind = kind

    def __dlpack__(self, **options):
        raise BufferError("not for the host")

    def __dlpack_device__(self):
        return self.kind, 0


class Host(unittest.TestCase):
    def test_tensors_are_read_where_they_are(self):
        """numpy allocates the result and no copy of a 2 MB operand."""
        a = generator(41)[0].standard_normal((500, 500))
        keys = a.ravel().copy()
        reads = [(lambda: tessera.matmul(Tensor(a), Tensor(a.T)), a @ a.T),
                 (lambda: tessera.transpose(Tensor(a)), a.T),
                 (lambda: tessera.sort(Tensor(keys)), numpy.sort(keys)),
                 (lambda: tessera.sort(memoryview(keys)), numpy.sort(keys)),
                 (lambda: tessera.argsort(Tensor(keys)), numpy.argsort(keys, kind="stable"))]
        for number, (read, expected) in enumerate(reads):
            with self.subTest(number=number):
                read()  # a first call may import modules
                tracemalloc.start()
                result = read()
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                numpy.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
                self.assertLess(peak - result.nbytes, 100_000)

    def test_the_other_functions_take_them(self):
        u = numpy.array([0.0, 0.0, 8.0, 0.0, 0.0])
        numpy.testing.assert_array_equal(tessera.stencil(Tensor(u), 1), [0, 1, 6, 1, 0])
        numpy.testing.assert_array_equal(tessera.sort(array.array("i", [3, 1, 2])), [1, 2, 3])

    def test_tensors_of_torch(self):
        try:
            import torch
        except ImportError as missing:
            self.skipTest(f"{missing}; pip install torch")
        a = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
        numpy.testing.assert_array_equal(tessera.matmul(a, a.T), (a @ a.T).numpy())
        numpy.testing.assert_array_equal(tessera.transpose(a), a.T.numpy())
        out = torch.zeros(2, 2, dtype=torch.float64)
        tessera.matmul(a, a.T, out=out.numpy())
        self.assertTrue(torch.equal(out, a @ a.T))
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            tessera.matmul(a.clone().requires_grad_(), a.T)


class Refusals(unittest.TestCase):
    def test_what_is_no_gpu_array_of_this_process(self):
        x = numpy.zeros((3, 3))
        gpu, mask = OnGpu(x), OnGpu(x, mask=OnGpu(x))
        wrong = [
            (TypeError, "u is in the memory of a GPU: stencil takes arrays of the host; copy it",
             lambda: tessera.stencil(gpu, 1)),
            (TypeError, "a is in the memory of the host",
             lambda: tessera.argsort(x[0], out=OnGpu(x[0].astype(int)))),
            (TypeError, "b is in the memory of the host", lambda: tessera.matmul(gpu, x)),
            (TypeError, "a is in the memory of the host", lambda: tessera.matmul(x, gpu)),
            (TypeError, "out is in the memory of the host",
             lambda: tessera.matmul(gpu, gpu, out=x)),
            (TypeError, "a is in the memory of the host", lambda: tessera.transpose(x, out=gpu)),
            (TypeError, "a is a masked array", lambda: tessera.matmul(mask, gpu)),
            (ValueError, r"on the GPUs \[0, 1\]", lambda: tessera.matmul(gpu, OnGpu(x, 1))),
            (TypeError, "a is on a device and has no .*pass cupy.from_dlpack",
             lambda: tessera.transpose(Elsewhere(2))),
            (TypeError, "a is on a device and has no", lambda: tessera.sort(Elsewhere(10))),
        ]
        for kind, words, call in wrong:
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                call()

    def test_without_a_gpu_it_says_why_and_what_to_do(self):
        try:
            tessera._kernels.use_gpu(0)
            self.skipTest("there is a GPU, or its emulation")
        except TypeError as error:
            self.assertRegex(str(error), r"in the memory of a GPU, which this tessera cannot use "
                                         r"\(.+\): copy it to the host first")
        x = OnGpu(numpy.ones((3, 3)))
        for call in (lambda: tessera.matmul(x, x), lambda: tessera.transpose(x),
                     lambda: tessera.sort(OnGpu(numpy.ones(3))),
                     lambda: tessera.argsort(OnGpu(numpy.ones(3)))):
            with self.assertRaisesRegex(TypeError, "copy it to the host first"):
                call()


def library_with_gpu():
    """Returns (upload, download) of the emulation, cupy or torch, or None where there is no GPU for
    them."""
    try:
        tessera._kernels.use_gpu(0)
    except TypeError:
        return None
    if "TESSERA_EMULATED_GPU" in os.environ:
        return (lambda x: OnGpu(x.copy()),
                lambda x: numpy.asarray(types.SimpleNamespace(
                    __array_interface__=x.__cuda_array_interface__)).copy())
    for name in ("cupy", "torch"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "cupy":
            return module.asarray, lambda x: module.asnumpy(module.asarray(x))
        return (lambda x: module.tensor(x, device="cuda"),
                lambda x: module.as_tensor(x, device="cuda").cpu().numpy())
    return None


GPU = library_with_gpu()


@unittest.skipUnless(GPU, "no GPU that this build can use, or neither cupy nor torch")
class Gpu(unittest.TestCase):
    def setUp(self):
        self.up, self.down = GPU
        self.values, self.choices = generator(42)

    def number(self, most=300):
        return self.choices.randrange(1, most)

    def test_products(self):
        for dtype, tolerance in (("f4", 1e-4), ("f8", 1e-12), ("c8", 1e-4), ("c16", 1e-12)):
            for _ in range(20):
                m, n, k, gap = self.number(), self.number(), self.number(), self.number(9)
                a = self.made((m, k + gap), dtype)
                b = self.made((n + gap, k), dtype)
                expected = a[:, gap:] @ b[gap:].T
                left, right = self.up(a)[:, gap:], self.up(b)[gap:].T
                found = tessera.matmul(left, right)
                numpy.testing.assert_allclose(self.down(found), expected, tolerance, tolerance * k)
                around = self.up(numpy.full((m + 2, n + 2), 7, dtype))
                out = around[1:-1, 1:-1]
                self.assertIs(tessera.matmul(left, right, out=out), out)
                whole = self.down(around)
                numpy.testing.assert_allclose(whole[1:-1, 1:-1], expected, tolerance, tolerance * k)
                self.assertTrue((whole[[0, -1]] == 7).all() and (whole[:, [0, -1]] == 7).all())

                turned = self.up(numpy.ascontiguousarray(a[:, gap:].T)).T
                numpy.testing.assert_allclose(self.down(tessera.matmul(turned, right)), expected,
                                              tolerance, tolerance * k)

    def made(self, shape, dtype):
        real, imaginary = self.values.standard_normal((2, *shape))
        return (real + 1j * imaginary if dtype[0] == "c" else real).astype(dtype)

    def test_a_long_complex_product(self):
        """Of more elements along k than a panel on a GPU has."""
        a, b = self.made((3, 9000), "c16"), self.made((9000, 5), "c16")
        found = tessera.matmul(self.up(a), self.up(b))
        numpy.testing.assert_allclose(self.down(found), a @ b, 1e-11, 1e-10)

    def test_sorts(self):
        for dtype in ("i4", "i8", "u4", "u8", "f4", "f8"):
            for descending in (False, True):
                n = self.choices.choice([1, 2, self.number(100_000)])
                keys = (self.values.standard_normal(n) * 1e6).astype(dtype)
                if keys.dtype.kind == "f":
                    keys[::7] = numpy.nan
                expected = tessera.sort(keys, descending=descending)
                there = self.up(keys)
                found = tessera.sort(there, descending=descending)
                numpy.testing.assert_array_equal(self.down(found), expected)
                numpy.testing.assert_array_equal(self.down(there), keys)
                self.assertIs(tessera.sort(there, descending=descending, out=there), there)
                numpy.testing.assert_array_equal(self.down(there), expected)

    def test_argsorts(self):
        for dtype in ("i4", "i8", "u4", "u8", "f4", "f8"):
            for descending in (False, True):
                n = self.choices.choice([1, 2, self.number(100_000)])
                keys = (self.values.standard_normal(n) * 50).astype(dtype)
                if keys.dtype.kind == "f":
                    keys[::7], keys[::5], keys[::11] = numpy.nan, 0.0, -0.0
                    keys[::13] = -numpy.abs(keys[::13] * numpy.nan)
                expected = tessera.argsort(keys, descending=descending)
                there = self.up(keys)
                found = tessera.argsort(there, descending=descending)
                numpy.testing.assert_array_equal(self.down(found), expected)
                numpy.testing.assert_array_equal(self.down(there), keys)
                out = self.up(numpy.zeros(n, "i8"))
                self.assertIs(tessera.argsort(there, descending=descending, out=out), out)
                numpy.testing.assert_array_equal(self.down(out), expected)
                apart = self.up(numpy.repeat(keys, 3))[::3]
                numpy.testing.assert_array_equal(
                    self.down(tessera.argsort(apart, descending=descending)), expected)

    def test_axes(self):
        for dtype in ("i1", "f2", "f4", "f8", "c16"):
            for _ in range(12):
                dims = self.choices.randint(1, 6)
                shape = [1 + self.number(40 if dims < 4 else 9) for _ in range(dims)]
                a = self.values.integers(0, 99, shape).astype(dtype)
                axes = self.choices.sample(range(dims), dims)
                cut = tuple(slice(self.choices.randint(0, 1), None, self.choices.randint(1, 2))
                            for _ in range(dims))
                for part, there in ((a, self.up(a)), (a[cut], self.up(a)[cut])):
                    expected = numpy.ascontiguousarray(part.transpose(axes))
                    found = self.down(tessera.transpose(there, axes))
                    numpy.testing.assert_array_equal(found, expected)

    def test_transposes(self):
        for dtype in ("i1", "f2", "f4", "f8", "c16"):
            a = self.values.integers(0, 9, (self.number(), self.number())).astype(dtype)
            numpy.testing.assert_array_equal(self.down(tessera.transpose(self.up(a))), a.T)
            part = self.up(a)[1:, :-1]
            numpy.testing.assert_array_equal(self.down(tessera.transpose(part)), a[1:, :-1].T)

    def test_refusals(self):
        a, u = self.up(numpy.ones((3, 3))), self.up(numpy.ones((3, 3), "f4"))
        for kind, words, call in (
                (TypeError, "must both be", lambda: tessera.matmul(a, u)),
                (ValueError, "b has shape", lambda: tessera.matmul(a, a[:2])),
                (ValueError, "out overlaps a", lambda: tessera.matmul(a, a, out=a)),
                (ValueError, "contiguous rows or columns",
                 lambda: tessera.matmul(a[::2, ::2], a[:2])),
                (TypeError, "must both be", lambda: tessera.matmul(a, self.up(numpy.ones((3, 3),
                                                                                         "c8")))),
                (ValueError, "axes is", lambda: tessera.transpose(a, (0, 0))),
                (ValueError, "a has 2 dimensions", lambda: tessera.argsort(a)),
                (TypeError, "out has dtype float64",
                 lambda: tessera.argsort(a[0], out=self.up(numpy.ones(3)))),
                (ValueError, "must ascend", lambda: tessera.argsort(OnGpu(numpy.ones(9)[::-1])))):
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                call()


if __name__ == "__main__":
    unittest.main()
