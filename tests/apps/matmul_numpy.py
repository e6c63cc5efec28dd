"""tessera matmul against numpy: shapes, types, transposes, ranks, kernels, algorithms and storage
forms.

The tolerance is the textbook bound of a dot product of length k summed in any order, with a factor
of 2 to spare: |C - C'| <= 2 (k + 3) u (|alpha| |A| |B| + |beta| |C0|) element by element, u = 2^-24
or 2^-53 (Higham 2002, 3.5)."""

import concurrent.futures
import itertools
import os
import random
import unittest

import tessera
from tessera import h5py, numpy

SHAPES_SPECIAL = [  # m, n, k
    (0, 5, 7), (5, 0, 7), (5, 7, 0), (0, 0, 0), (1, 1, 1), (1, 97, 1), (97, 1, 1), (1, 1, 211),
                  (2, 3, 5003),
    (701, 3, 2), (3, 509, 7), (127, 131, 137), (64, 64, 64), (65, 63, 257), (256, 128, 129),
                  (5, 5, 2048),
    (31, 33, 32), (1, 300, 400), (300, 1, 400), (8, 8, 1025)]
SHAPE_COUNT = 40
RANKS = (1, 2, 3, 4, 6, 7)
OPS = ("NN", "NT", "TN", "TT")
COMPLEX_OPS = ("HN", "NH", "HH", "TH", "NN", "TT")
TYPES = ("f32", "f64")
COMPLEX_ON_GPUS = ("cuda_tensor", "cuda_tensor_3m")
COMPLEX = {"c64": numpy.complex64, "c128": numpy.complex128}
WIDE = [e for e in tessera.ELEMENTS if e not in ("f16", "f32", "f32_big")]
NARROW = ["f16", "f32", "f32_big"]


def draw_shapes(rng):
    shapes = list(SHAPES_SPECIAL)
    while len(shapes) < SHAPE_COUNT:
        limits = rng.choice([(200, 200, 200), (400, 20, 60), (20, 400, 60), (30, 30, 3000)])
        shapes.append(tuple(int(limit ** rng.random()) for limit in limits))
    return shapes


def list_rows(heading):
    """Returns the first columns of a table of `tessera list`, by its second heading."""
    rows, inside = [], False
    for line in tessera.run("list").out.splitlines():
        words = line.split()
        inside = (inside or words[1:2] == [heading]) and bool(words)
        if inside and words[0] == "matmul":
            rows.append(words[1:3])
    return rows


def algorithms(*ranks):
    """Returns the algorithms that run on each of these numbers of ranks."""
    return [row[0] for row in list_rows("algorithm")
            if not any(tessera.run("matmul", "--algorithm", row[0], "--plan", "--ranks",
                                   number).code for number in ranks)]


def deck(rng, values):
    """Yields the values forever, each once before any repeats."""
    while True:
        shuffled = list(values)
        rng.shuffle(shuffled)
        yield from shuffled


class Drawn:
    """One product: its random choices for a shape, type, op and number of ranks."""

    def __init__(self, number, shape, kind, op, ranks, kernel, algorithm):
        rng = random.Random(f"{tessera.SEED} {number}")
        self.values = numpy.random.default_rng([tessera.SEED, number])
        self.number, self.shape, self.kind, self.op, self.ranks = number, shape, kind, op, ranks
        self.kernel, self.algorithm = kernel, algorithm
        self.name_type = rng.random() < 0.5  # else the program derives it from the inputs
        elements = list(tessera.ELEMENTS) if self.name_type else NARROW if kind == "f32" else None
        pick = lambda: rng.choice(elements or list(tessera.ELEMENTS))
        self.elements = {"a": pick(), "b": pick(), "c": pick()}
        if elements is None:
            self.elements[rng.choice("ab")] = rng.choice(WIDE)  # one wide operand makes it f64
        self.storages = {operand: rng.choice(tessera.STORAGES) for operand in "abc"}
        self.alpha = rng.choice([1, 1, 1, -2.5, 0, 1 / 3])
        self.beta = rng.choice([0, 0, 1, -0.75])
        self.threads = rng.choice([1, 1, 2])
        self.grid = None
        if algorithm == "summa" and rng.random() < 0.5:
            rows = rng.choice([d for d in range(1, ranks + 1) if ranks % d == 0])
            self.grid = f"{rows}x{ranks // rows}"
        self.panel = rng.choice([64, 200, 1024])
        self.slices = rng.choice([0, 0, 1, 5])
        self.device_memory = rng.choice([0, 30_000, 200_000]) if tessera.DEVICE == "gpu" else 0

    def operands(self):
        m, n, k = self.shape
        a = (m, k) if self.op[0] == "N" else (k, m)
        b = (k, n) if self.op[1] == "N" else (n, k)
        shapes = {"a": a, "b": b, "c": (m, n)} if self.beta else {"a": a, "b": b}
        return {x: tessera.draw_values(self.values, shape, self.elements[x])
                for x, shape in shapes.items()}

    def arguments(self, names):
        words = [w for x, name in names.items() for w in (f"--{x}", name)]
        words += ["--trans-a", self.op[0], "--trans-b", self.op[1], "--alpha", repr(self.alpha),
                  "--beta",
                  repr(self.beta), "--kernel", self.kernel, "--algorithm", self.algorithm,
                  "--repetitions", "1",
                  "--warmups", "0"]
        words += ["--type", self.kind] if self.name_type else []
        words += ["--device-memory", self.device_memory] if self.device_memory else []
        words += ["--panel", self.panel] if self.algorithm == "summa" else ["--slices", self.slices]
        return words + (["--grid", self.grid] if self.grid else [])

    def expected(self, operands):
        """Returns C in float64, and the bound of the rounding error."""
        a, b = (operands[x].astype(numpy.float64) for x in "ab")
        a, b = a.T if self.op[0] == "T" else a, b.T if self.op[1] == "T" else b
        c, size = self.alpha * (a @ b), abs(self.alpha) * (abs(a) @ abs(b))
        if self.beta:
            old = operands["c"].astype(numpy.float64)
            c, size = c + self.beta * old, size + abs(self.beta * old)
        unit = 2.0**-24 if self.kind == "f32" else 2.0**-53
        return c, 2 * (self.shape[2] + 3) * unit * size

    def __str__(self):
        m, n, k = self.shape
        return (f"case {self.number}: {m} x {n} x {k} {self.kind} {self.op} on {self.ranks} ranks "
                f"x {self.threads} "
                f"threads, {self.kernel}, {self.algorithm} {self.grid or ''}, {self.slices} "
                f"slices, "
                f"alpha {self.alpha}, beta {self.beta}, stored as {self.elements} {self.storages}, "
                f"device memory {self.device_memory}")


class AgainstNumpy(tessera.Case):
    def check(self, case):
        """Runs a case; returns None, or a description of the error."""
        operands = case.operands()
        names = {x: tessera.write_matrix(self.path(f"{case.number}{x}.h5"), values,
                                         case.storages[x], x.upper())
                 for x, values in operands.items()}
        out = self.path(f"{case.number}out.h5")
        result = self.run_tessera("matmul", *case.arguments(names), "--out", f"{out}:/C",
                                  ranks=case.ranks,
                                  threads=case.threads, timeout=120)
        if result.code != 0:
            return f"{case}\n{result}"
        got = tessera.read_matrix(out)
        for file in [out] + [name.rpartition(":")[0] for name in names.values()]:
            os.unlink(file)
        want, bound = case.expected(operands)
        if got.shape != want.shape or got.dtype != numpy.dtype(
                case.kind.replace("f32", "f4").replace("f64", "f8")):
            return f"{case}\ngot {got.dtype} {got.shape}"
        if not numpy.allclose(got, want, rtol=0, atol=bound):
            worst = numpy.unravel_index(numpy.argmax(abs(got - want) - bound), got.shape)
            return f"{case}\nat {worst}: got {got[worst]!r}, want {want[worst]!r} within " \
                   f"{bound[worst]:.3g}"
        return None

    def check_all(self, cases):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(self.check, cases) if text]
        for kernel in sorted({case.kernel for case in cases}):
            print(f"  {kernel}: {sum(case.kernel == kernel for case in cases)} products",
                  flush=True)
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(cases)} are wrong:\n"
                         + "\n".join(wrong[:5]))

    def draw(self, combinations):
        """Returns cases of (shape, type, op, ranks), with kernels and algorithms in rotation."""
        rng = random.Random(tessera.SEED)
        kernels = deck(rng, tessera.kernels("matmul") + ["auto"])
        ways = deck(rng, algorithms(*RANKS))
        return [Drawn(number, *combination, next(kernels), next(ways))
                for number, combination in enumerate(combinations)]

    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_covering_subset(self):
        """Every shape and every (type, op, ranks) at least twice, every kernel eight times."""
        rng = random.Random(tessera.SEED)
        shapes = deck(rng, draw_shapes(rng))
        rest = deck(rng, list(itertools.product(TYPES, OPS, RANKS)))
        self.check_all(self.draw([(next(shapes), *next(rest))
                                  for _ in range(40 if tessera.DEVICE else 96)]))

    @unittest.skipUnless(tessera.SLOW, "the complete set takes half an hour; TESSERA_TEST_SLOW=1")
    def test_every_combination(self):
        shapes = draw_shapes(random.Random(tessera.SEED))
        self.check_all(self.draw(list(itertools.product(shapes, TYPES, OPS, RANKS))))

    def test_every_kernel_with_every_op(self):
        """One shape without common factors, in sweeps without output: the program's check decides.
        """
        result = self.succeed("matmul", "--m", 61, "--n", 83, "--k", 97, "--kernel",
                              ",".join(tessera.kernels("matmul")),
                              "--trans-a", "N,T", "--trans-b", "N,T", "--type", "f32,f64",
                              "--algorithm",
                              ",".join(algorithms(3)), "--repetitions", 1, ranks=3)
        rows = [line for line in result.out.splitlines() if " passed " in line]
        self.assertEqual(len(rows), len(tessera.kernels("matmul")) * 4 * 2 * len(algorithms(3)),
                         str(result))

    def test_what_alpha_leaves_out_is_no_work(self):
        for alpha, work in ((0, 0), (2, 2 * 30 * 40 * 50)):
            self.succeed("matmul", "--m", 30, "--n", 40, "--k", 50, "--alpha", alpha, "--beta", 1,
                         "--repetitions", 1, "--results", "r.h5")
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file[sorted(file)[-1]]["summary/work"][0], work)

    @unittest.skipUnless(tessera.DEVICE == "gpu", "TESSERA_DEVICE=gpu runs it")
    def test_every_kernel_in_pieces(self):
        kernels = tessera.kernels("matmul")
        result = self.succeed("matmul", "--m", 301, "--n", 203, "--k", 405, "--beta", -0.5,
                              "--type", "f32,f64", "--trans-a",
                              "N,T", "--kernel", ",".join(kernels), "--device-memory",
                              "40000,400KiB,0", "--repetitions", 1)
        rows = [line for line in result.out.splitlines() if " passed " in line]
        self.assertEqual(len(rows), len(kernels) * 2 * 2 * 3, str(result))

    def draw_complex(self, rng, shape, kind):
        return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(COMPLEX[kind])

    def test_complex_products(self):
        """Types, operands plain, transposed and conjugated, complex factors, ranks, algorithms,
        storage."""
        rng, draw = numpy.random.default_rng(tessera.SEED), random.Random(tessera.SEED)
        turn = {"N": lambda x: x, "T": lambda x: x.T, "H": lambda x: x.conj().T}
        kernels = deck(draw, [kernel for kernel in tessera.kernels("matmul")
                              if not kernel.startswith("cu") or kernel in COMPLEX_ON_GPUS]
                       + ["auto"])
        ways, ops = deck(draw, algorithms(*RANKS)), deck(draw, COMPLEX_OPS)
        for _ in range(16):
            kind, op, (m, n, k) = draw.choice(list(COMPLEX)), next(ops), draw.choice(
                [(61, 83, 97), (1, 5, 2100), (130, 30, 64), (7, 0, 3), (5, 6, 0), (33, 27, 1030)])
            alpha, beta = draw.choice([1, 1.5 - 2j, 1j, 0]), draw.choice([0, 1, -0.5 + 0.25j])
            a, b = self.draw_complex(rng, (m, k), kind), self.draw_complex(rng, (k, n), kind)
            c = self.draw_complex(rng, (m, n), kind)
            stored = {"a": turn[op[0]](a), "b": turn[op[1]](b)} | ({"c": c} if beta else {})
            words = ["--trans-a", op[0], "--trans-b", op[1],
                     f"--alpha={alpha}".replace("(", "").replace(")", ""),
                     f"--beta={beta}".replace("(", "").replace(")", ""), "--kernel", next(kernels),
                     "--algorithm", next(ways)]
            for x, values in stored.items():
                words += [f"--{x}", tessera.write_matrix(self.path(f"{x}.h5"), values,
                                                         draw.choice(tessera.STORAGES), x)]
            result = self.succeed("matmul", *words, "--out", "out.h5:/C", "--overwrite",
                                  "--repetitions", 1, "--warmups", 0,
                                  ranks=draw.choice([1, 1, 2, 3]))
            self.assertIn("passed", result.out)
            got = tessera.read_matrix(self.path("out.h5"))
            self.assertEqual(got.dtype, COMPLEX[kind])
            want = alpha * (a.astype("c16") @ b.astype("c16")) + beta * c
            size = abs(alpha) * (abs(a).astype("f8") @ abs(b)) + abs(beta) * abs(c)
            unit = 2.0**-24 if kind == "c64" else 2.0**-53
            worst = numpy.max(abs(got - want) - 4 * (k + 3) * unit * size, initial=0)
            self.assertLessEqual(worst, 0, f"{words}\n{result}")

    def test_complex_operands_beside_real_ones(self):
        """The type is complex if one operand is, and member names other than h5py's are recognised.
        """
        rng = numpy.random.default_rng(tessera.SEED)
        a, b = rng.normal(size=(41, 30)).astype("f4"), self.draw_complex(rng, (30, 23), "c64")
        self.assertEqual(self.product({"a": a, "b": b}).dtype, numpy.complex64)
        numpy.testing.assert_allclose(self.product({"a": a, "b": b}, "--type", "c128"),
                                      a.astype("f8") @ b.astype("c16"),
                                      rtol=1e-12, atol=1e-12)
        self.assertEqual(self.product({"a": a.astype("f8"), "b": b}).dtype, numpy.complex128)
        with h5py.File(self.path("named.h5"), "w") as file:
            named = numpy.zeros(b.shape, [("real", "f4"), ("imag", "f4")])
            named["real"], named["imag"] = b.real, b.imag
            file["B"] = named
        name = tessera.write_matrix(self.path("a.h5"), a, name="A")
        self.succeed("matmul", "--a", name, "--b", self.path("named.h5:/B"), "--out", "out.h5:/C",
                     "--overwrite")
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("out.h5")), a @ b, rtol=1e-4,
                                      atol=1e-4)

    def test_complex_numbers_where_they_cannot_go(self):
        rng = numpy.random.default_rng(tessera.SEED)
        name = tessera.write_matrix(self.path("a.h5"), self.draw_complex(rng, (9, 9), "c128"),
                                    name="A")
        self.fail_with(65, "matmul", "--a", name, "--b", name, "--type", "f64", words="complex")
        if tessera.DEVICE == "gpu":
            self.fail_with(64, "matmul", "--a", name, "--b", name, "--kernel", "cuda_register",
                           words=("cuda_register", "complex", "cuda_tensor_3m"))
        self.fail_with(64, "matmul", "--n", 9, "--alpha", "1+j2", words="finite")
        self.fail_with(64, "matmul", "--n", 9, "--type", "f64", "--alpha", "1+2j", words="real")

    def test_nonfinite_complex_values(self):
        rng = numpy.random.default_rng(tessera.SEED)
        a, b = self.draw_complex(rng, (40, 30), "c128"), self.draw_complex(rng, (30, 50), "c128")
        a[7, 3], b[5, 11] = complex(numpy.nan, 1), complex(0, numpy.inf)
        got = self.product({"a": a, "b": b})
        wrong = numpy.zeros(got.shape, bool)
        wrong[7], wrong[:, 11] = True, True
        numpy.testing.assert_array_equal(~numpy.isfinite(got), wrong)
        a[7, 3], b[5, 11] = 0, 0
        numpy.testing.assert_allclose(got[~wrong], (a @ b)[~wrong], rtol=1e-12, atol=1e-12)

    def test_the_type_is_as_wide_as_the_inputs(self):
        rng = numpy.random.default_rng(tessera.SEED)
        for a, b, c, want in (("f32", "f16", "f32", "f4"), ("f32", "f64", "f32", "f8"),
                              ("f32", "f32", "f64", "f8"),
                              ("i16", "f32", "f32", "f8"), ("f16", "f16", None, "f4")):
            names = {x: tessera.write_matrix(self.path(f"{x}.h5"),
                                             tessera.draw_values(rng, (9, 9), element), name=x)
                     for x, element in zip("abc", (a, b, c)) if element}
            words = [w for x in names for w in (f"--{x}", names[x])] + (["--beta", 1] if c else [])
            self.succeed("matmul", *words, "--out", "out.h5:/C", "--overwrite", "--repetitions", 1)
            self.assertEqual(tessera.read_matrix(self.path("out.h5")).dtype, numpy.dtype(want),
                             (a, b, c))

    def test_matrices_of_bool_are_multiplied_as_numbers(self):
        a = numpy.random.default_rng(tessera.SEED).random((17, 23)) > 0.5
        name = tessera.write_matrix(self.path("a.h5"), a, "chunked")
        self.succeed("matmul", "--a", name, "--b", name, "--trans-b", "T", "--out", "c.h5:/C",
                     ranks=2)
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("c.h5")),
                                         a.astype("f8") @ a.T.astype("f8"))

    def test_one_file_for_both_operands(self):
        values = numpy.random.default_rng(tessera.SEED).normal(size=(57, 23))
        name = tessera.write_matrix(self.path("x.h5"), values, "chunked", "X")
        self.succeed("matmul", "--a", name, "--trans-a", "T", "--b", name, "--out",
                     "gram.h5:/made/for/G", ranks=2)
        with h5py.File(self.path("gram.h5")) as file:
            numpy.testing.assert_allclose(file["/made/for/G"][()], values.T @ values, rtol=1e-12,
                                          atol=1e-12)

    def product(self, operands, *more, ranks=3):
        """Returns C of the operands {"a": ..., "b": ..., "c": ...}; the program's check must accept
        it."""
        words = [w for x, v in operands.items()
                 for w in (f"--{x}", tessera.write_matrix(self.path(f"{x}.h5"), v, name=x))]
        result = self.succeed("matmul", *words, "--out", "out.h5:/C", "--overwrite",
                              "--repetitions", 1, *more,
                              ranks=ranks)
        self.assertIn("passed", result.out)
        return tessera.read_matrix(self.path("out.h5"))

    def test_nonfinite_values_in_the_old_c(self):
        """NaN and Inf of C reappear at their positions, also together with those of A and B."""
        rng = numpy.random.default_rng(tessera.SEED)
        a, b, c = rng.normal(size=(31, 20)), rng.normal(size=(20, 27)), rng.normal(size=(31, 27))
        c[3, 4], c[30, 0] = numpy.nan, numpy.inf
        for place in ("c", "b and c", "a, b and c"):
            if "b" in place:
                b[5, 6] = numpy.nan
            if "a" in place:
                a[7, 8] = -numpy.inf
            with numpy.errstate(invalid="ignore"):
                want = 1.5 * (a @ b) - 2 * c
            got = self.product({"a": a, "b": b, "c": c}, "--alpha", 1.5, "--beta", -2)
            numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)

    def test_nonfinite_values_in_b_with_a_finite_c(self):
        rng = numpy.random.default_rng(tessera.SEED)
        a, b, c = rng.normal(size=(31, 20)), rng.normal(size=(20, 27)), rng.normal(size=(31, 27))
        b[5, 6] = numpy.nan
        numpy.testing.assert_allclose(self.product({"a": a, "b": b, "c": c}, "--beta", 1),
                                      a @ b + c, rtol=1e-12,
                                      atol=1e-12)

    def test_overflow_is_right(self):
        """Products that overflow are infinite, and the check accepts them."""
        rng = numpy.random.default_rng(tessera.SEED)
        for kind, large in (("f4", 1e30), ("f8", 1e200)):
            a = rng.uniform(1, 2, (30, 20)).astype(kind)
            b = rng.uniform(1, 2, (20, 40)).astype(kind)
            a[7], b[:, 9] = large, large
            with numpy.errstate(over="ignore"):
                want = a @ b
            self.assertEqual(numpy.isinf(want).sum(), 1)
            numpy.testing.assert_allclose(self.product({"a": a, "b": b}), want, rtol=1e-4)

    def test_underflow_is_right(self):
        """Products that underflow are zero or nearly so, and the check accepts them."""
        rng = numpy.random.default_rng(tessera.SEED)
        for kind, small, rounding in (("f4", 1e-25, 1e-40), ("f4", 3e-20, 1e-40),
                                      ("f8", 1e-170, 1e-320)):
            a = (small * rng.normal(size=(30, 20))).astype(kind)
            b = (small * rng.normal(size=(20, 40))).astype(kind)
            want = a.astype("f8") @ b.astype("f8")
            got = self.product({"a": a, "b": b}, "--alpha", 2)
            numpy.testing.assert_allclose(got, 2 * want, rtol=1e-4, atol=rounding)

    def test_nonfinite_values_travel_through_the_product(self):
        """NaN and Inf appear where numpy's do, and the check accepts the product."""
        rng = numpy.random.default_rng(tessera.SEED)
        a, b = rng.normal(size=(40, 30)), rng.normal(size=(30, 50))
        a[7, 3], a[21, 0], b[5, 11] = numpy.nan, numpy.inf, -numpy.inf
        with numpy.errstate(invalid="ignore"):
            want = a @ b
        names = [tessera.write_matrix(self.path(f"{x}.h5"), v, name=x)
                 for x, v in (("A", a), ("B", b))]
        for ranks in (1, 3):
            for algorithm in algorithms(ranks):
                out = self.path(f"{ranks}{algorithm}.h5")
                result = self.succeed("matmul", "--a", names[0], "--b", names[1], "--algorithm",
                                      algorithm, "--out",
                                      f"{out}:/C", ranks=ranks)
                self.assertIn("passed", result.out)
                numpy.testing.assert_allclose(tessera.read_matrix(out), want, rtol=1e-12,
                                              atol=1e-12)


if __name__ == "__main__":
    tessera.main()
