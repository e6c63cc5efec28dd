"""tessera transpose against numpy: types, shapes, storage forms, axes, ranks, algorithms, in place
and scaled.

Compared bit by bit: the elements are random bytes, including NaN payloads, and the file keeps its
type."""

import concurrent.futures
import os
import random
import unittest

import tessera
from tessera import h5py, numpy

TYPES = {
    **tessera.ELEMENTS,
    "i8": "i1", "u32": "<u4", "u64": "<u8", "i32_big": ">i4", "u16_big": ">u2", "i64_big": ">i8",
    "opaque3": "V3", "opaque12": "V12", "opaque64": "V64", "text": "S5",
    "complex": "c16", "complex_small": "c8", "complex_big": ">c16",
    "record": [("key", "<i4"), ("value", "<f8"), ("flag", "i1")],
    "packed": [("a", ">u2"), ("b", "f4", (3,))]}
COMPLEX = ("complex", "complex_small", "complex_big")
REAL = ("f32", "f64", "f32_big", "f64_big")
RANKS = (1, 2, 3, 4, 6, 7)
ALGORITHMS = ("auto", "alltoall", "pairwise", "shared")
KERNELS = ("auto", *tessera.kernels("transpose")) if tessera.DEVICE == "gpu" else \
    ("auto", "naive", "tiled", "column", "cache_oblivious")
# The device has no kernels for axes, in place and conjugates.
HOWS = ("matrix", "scaled", "converted", "tiles") if tessera.DEVICE == "gpu" else \
    ("matrix",) * 4 + ("axes",) * 4 + ("in_place", "scaled", "converted", "tiles", "tiles",
                                       "hermitian")
SHAPES_SPECIAL = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 97), (97, 1), (2, 3), (64, 64), (63, 65),
                  (128, 129), (7, 1000),
                  (1000, 7), (256, 256), (101, 103)]


def draw_bytes(values, shape, kind):
    """Returns random bytes as elements of the type."""
    dtype = numpy.dtype(kind)
    count = int(numpy.prod(shape, dtype=int))
    if dtype.kind == "S":  # numpy's strings lose a trailing zero byte
        raw = values.integers(97, 122, count * dtype.itemsize, dtype=numpy.uint8)
    else:
        raw = values.integers(0, 256, count * dtype.itemsize, dtype=numpy.uint8)
    return numpy.frombuffer(raw.tobytes(), dtype).reshape(shape)


class Drawn:
    """A run with random choices from its number."""

    def __init__(self, number):
        rng = self.rng = random.Random(f"{tessera.SEED} {number}")
        self.values = numpy.random.default_rng([tessera.SEED, number])
        self.number = number
        self.ranks = RANKS[number % len(RANKS)]
        self.type = rng.choice(list(TYPES))
        self.storage = rng.choice(tessera.STORAGES)
        self.threads = rng.choice([1, 2])
        self.words = ["--repetitions", rng.choice([1, 2]), "--warmups", 0]
        self.scale = None
        how = rng.choice(HOWS)
        getattr(self, how)()
        self.how = how

    def draw_shape(self):
        if self.rng.random() < 0.4:
            return self.rng.choice(SHAPES_SPECIAL)
        limits = self.rng.choice([(300, 300), (1500, 20), (20, 1500)])
        return tuple(int(limit ** self.rng.random()) for limit in limits)

    def matrix(self):
        self.shape = self.draw_shape()
        op = self.rng.choice("TTTN")
        self.axes = (1, 0) if op == "T" else (0, 1)
        self.words += ["--op", op, "--algorithm", self.rng.choice(ALGORITHMS), "--kernel",
                       self.rng.choice(KERNELS),
                       "--piece", self.rng.choice(["64", "1KiB", "4MiB"]), "--tile",
                       self.rng.choice([1, 7, 64]),
                       "--tile-order", self.rng.choice(["rows", "zigzag", "diagonal"])]

    def axes(self):
        rank = self.rng.randint(1, 6)
        extents = [1, 1, 2, 3, 5, 8, 13, 31, 200][:10 - rank]
        self.shape = tuple(self.rng.choice(extents) for _ in range(rank))
        if self.rng.random() < 0.1:
            self.shape = self.shape[:-1] + (0,)
        self.axes = tuple(self.rng.sample(range(rank), rank))
        self.words += ["--axes", ",".join(map(str, self.axes))]

    def in_place(self):
        self.shape, self.axes = self.draw_shape(), (1, 0)
        if self.ranks > 1:
            self.shape = (self.shape[0],) * 2
        self.words += ["--in-place", "--piece", self.rng.choice(["64", "1KiB", "4MiB"])]

    def tiles(self):
        """Out of core, with very little memory."""
        getattr(self, "matrix" if tessera.DEVICE == "gpu"
                else self.rng.choice(["matrix", "axes"]))()
        self.words += ["--out-of-core", "always", "--memory",
                       self.rng.choice(["600", "5KiB", "64KiB", "2MiB"])]

    def hermitian(self):
        self.shape, self.axes = self.draw_shape(), (1, 0)
        self.type = self.rng.choice(["complex", "complex_small", "complex_big", "f32", "i16"])
        self.words += ["--op", "H", "--algorithm", self.rng.choice(ALGORITHMS)]

    def scaled(self):
        self.matrix()
        self.type = self.rng.choice(REAL + COMPLEX)
        self.scale = (self.rng.choice([1, -2.5, 0, 1 / 3]), self.rng.choice([0, 1, -0.75]))
        if self.scale == (1, 0):  # the plain transpose, which keeps the stored form
            self.scale = (1, 0.5)
        self.words += ["--alpha", repr(self.scale[0]), "--beta", repr(self.scale[1])]

    def converted(self):
        self.matrix()
        self.type = self.rng.choice(["u8", "i16", "i32", "u16_big", "f32_big"])
        self.words += ["--type", "f64"]

    def draw_numbers(self, shape):
        if self.type not in COMPLEX:
            return tessera.draw_values(self.values, shape, self.type)
        parts = self.values.standard_normal((2,) + shape)
        return (parts[0] + 1j * parts[1]).astype(TYPES[self.type])

    def write(self, case):
        """Writes the operands to files; returns their names as arguments, and the expected result.
        """
        if self.scale or self.how == "hermitian":
            a = self.draw_numbers(self.shape)
        else:
            a = draw_bytes(self.values, self.shape, TYPES[self.type])
        # libraries widen NaNs differently
        if self.how == "converted" and a.dtype.kind == "f":
            a = numpy.nan_to_num(a)
        names = ["--in", tessera.write_matrix(case.path(f"{self.number}a.h5"), a, self.storage)]
        want = numpy.ascontiguousarray(a.transpose(self.axes))
        if self.how == "hermitian":
            want = want.conj().astype(a.dtype.newbyteorder("=") if a.dtype.kind == "c" else a.dtype)
        if self.how == "converted":
            want = want.astype("<f8")
        if self.scale:
            kind = a.dtype.newbyteorder("=").type
            real = kind(0).real.dtype.type
            want = want.astype(kind) * real(self.scale[0]) if self.scale[0] != 0 else numpy.zeros(
                want.shape, kind)
            if self.scale[1] != 0:
                c = self.draw_numbers(want.shape)
                names += ["--c", tessera.write_matrix(case.path(f"{self.number}c.h5"), c, "chunked",
                                                      "C")]
                added = c.astype(kind) * real(self.scale[1])
                # a factor of 0 leaves its operand unread
                want = want + added if self.scale[0] != 0 else added
        return names, want

    def __str__(self):
        return (f"case {self.number}: {self.how}, {self.type} {self.shape} to axes {self.axes} "
                f"stored {self.storage} on "
                f"{self.ranks} ranks x {self.threads} threads")


def same_bits(got, want):
    """Returns whether elements are equal bit by bit; for records excluding the bytes between their
    members."""
    if got.dtype.names:
        return all(same_bits(got[name], want[name]) for name in got.dtype.names)
    return got.tobytes() == want.tobytes()


class AgainstNumpy(tessera.Case):
    def check(self, case):
        """Runs a case; returns None, or a description of the error."""
        names, want = case.write(self)
        out = self.path(f"{case.number}out.h5")
        result = self.run_tessera("transpose", *names, "--out", f"{out}:/T", *case.words,
                                  ranks=case.ranks,
                                  threads=case.threads, timeout=120)
        if result.code != 0:
            return f"{case}\n{result}"
        got = tessera.read_matrix(out, "T")
        for name in os.listdir(self.folder):
            if name.startswith(f"{case.number}a") or name.startswith(
                    f"{case.number}c") or name == f"{case.number}out.h5":
                os.unlink(self.path(name))
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"{case}\ngot {got.dtype} {got.shape}, want {want.dtype} {want.shape}\n{result}"
        return None if same_bits(got, want) else f"{case}\nother elements came out\n{result}"

    def check_all(self, numbers):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(lambda n: self.check(Drawn(n)), numbers) if text]
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(numbers)} are wrong:\n"
                         + "\n".join(wrong[:5]))

    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_random_cases(self):
        self.check_all(range(40))

    @unittest.skipUnless(tessera.SLOW, "takes minutes; TESSERA_TEST_SLOW=1")
    def test_many_random_cases(self):
        self.check_all(range(200))

    def test_every_kernel_algorithm_and_type_of_generated_matrices(self):
        result = self.succeed("transpose", "--m", 61, "--n", 83, "--kernel", ",".join(KERNELS),
                              "--algorithm",
                              ",".join(ALGORITHMS), "--op", "T,N", "--type", "u8,i16,f32,f64",
                              "--repetitions", 1,
                              ranks=3)
        rows = [line for line in result.out.splitlines() if " passed " in line]
        self.assertEqual(len(rows), len(KERNELS) * len(ALGORITHMS) * 2 * 4, str(result))

    def test_the_rate_counts_what_is_read_and_written(self):
        for alpha, beta, matrices in ((1, 0, 2), (2, 1, 3), (0, 1, 2), (0, 0, 1)):
            result = self.succeed("transpose", "--m", 30, "--n", 50, "--alpha", alpha, "--beta",
                                  beta, "--repetitions", 1, "--results", "r.h5")
            with h5py.File(self.path("r.h5")) as file:
                self.assertEqual(file[sorted(file)[-1]]["summary/work"][0], matrices * 30 * 50 * 8,
                                 str(result))

    def test_ranks_without_a_part_of_the_data_keep_in_step(self):
        for shape in ((1, 1), (2, 2), (0, 3)):
            name = tessera.write_matrix(self.path("a.h5"), numpy.ones(shape))
            for words in (("--algorithm", "pairwise"), ("--algorithm", "shared"),
                          ("--axes", "1,0")):
                self.succeed("transpose", "--in", name, "--out", "t.h5:/T", "--overwrite",
                             "--results", "r.h5", "--again",
                             *words, ranks=5)

    def test_any_number_of_ranks_generates_the_same(self):
        found = []
        for ranks in (1, 3):
            out = self.path(f"{ranks}.h5")
            self.succeed("transpose", "--m", 37, "--n", 21, "--seed", 7, "--out", f"{out}:/T",
                         ranks=ranks)
            found.append(tessera.read_matrix(out, "T"))
        self.assertEqual(found[0].tobytes(), found[1].tobytes())
        self.assertEqual(found[0].shape, (21, 37))

    def test_the_result_is_verified_and_says_so(self):
        a = numpy.arange(15.0).reshape(3, 5)
        name = tessera.write_matrix(self.path("a.h5"), a)
        self.succeed("transpose", "--in", name, "--out", "t.h5:/T", ranks=2)
        self.succeed("verify", "t.h5")
        with h5py.File(self.path("t.h5")) as file:
            self.assertEqual(file["_tessera"].attrs["verified"], 1)
            self.assertEqual(file["_tessera"].attrs["verification_method"], "hash")

    def test_conjugation_of_real_numbers_is_transposition(self):
        a = numpy.arange(6.0).reshape(2, 3)
        name = tessera.write_matrix(self.path("a.h5"), a)
        self.succeed("transpose", "--in", name, "--op", "H", "--out", "t.h5:/T")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), a.T)


class Memory(tessera.Case):
    @unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
    def test_the_limit_is_kept(self):
        """192 MiB with 24 MiB a rank: the peak is the limit plus what any run holds, not the data.
        """
        n = 4900
        a = numpy.random.default_rng(tessera.SEED).random((n, n + 37))
        name = tessera.write_matrix(self.path("a.h5"), a)
        small = tessera.write_matrix(self.path("s.h5"), a[:8, :8])
        words = ("transpose", "--in", name, "--out", "t.h5:/T")
        base = self.own_memory("transpose", "--in", small, "--out", "s2.h5:/T")
        peak = self.own_memory(*words, "--memory", "24MiB")
        self.assertLess(peak, base + (32 << 20))
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), a.T)
        self.succeed("verify", "t.h5")

    def test_ranks_take_the_same_tiles_of_chunks(self):
        a = numpy.random.default_rng(tessera.SEED).random((700, 530))
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("A", data=a, chunks=(97, 61))
        for ranks in (0, 3, 4):
            self.succeed("transpose", "--in", "a.h5:/A", "--out", "t.h5:/T", "--overwrite",
                         "--memory", "1MiB",
                         "--out-of-core", "always", ranks=ranks)
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), a.T)

    def test_the_results_tell_what_was_read_and_written(self):
        a = numpy.random.default_rng(tessera.SEED).random((700, 530))
        name = tessera.write_matrix(self.path("a.h5"), a)
        words = ("--out", "t.h5:/T", "--overwrite", "--memory", "1MiB", "--out-of-core", "always",
                 "--results", "r.h5")
        for ranks in (0, 3):
            self.succeed("transpose", "--in", name, *words, ranks=ranks)
            found = tessera.traffic(self.path("r.h5"))
            self.assertEqual(set(found), {0})
            self.assertEqual(found[0][:2], (a.nbytes, a.nbytes))
        self.succeed("transpose", "--m", 700, "--n", 530, *words)
        found = tessera.traffic(self.path("r.h5"))
        self.assertEqual(found[0][:2], (0, a.nbytes), "a matrix that is made is not read")

    def test_in_place_holds_one_matrix(self):
        """The matrix and a few rows, plus what any run holds."""
        words = ("transpose", "--in-place", "--repetitions", 1, "--warmups", 0)
        base = self.own_memory(*words, "--m", 64, "--n", 64)
        for m, n in ((4000, 4000), (1500, 9000)):
            peak = self.own_memory(*words, "--m", m, "--n", n)
            self.assertLess(peak, base + 8 * m * n + (8 << 20))

    def test_the_plan_names_the_tiles(self):
        name = tessera.write_matrix(self.path("a.h5"), numpy.zeros((300, 200)))
        result = self.succeed("transpose", "--in", name, "--out", "t.h5:/T", "--memory", "50KiB",
                              "--plan")
        self.assertIn("out of core", result.out)
        self.assertFalse(os.path.exists(self.path("t.h5")))

    def test_what_cannot_stream_says_so(self):
        name = tessera.write_matrix(self.path("a.h5"), numpy.zeros((30, 20)))
        self.fail_with(tessera.USAGE, "transpose", "--in", name, "--out-of-core", "always",
                       words="--out")
        self.fail_with(tessera.MEMORY, "transpose", "--in", name, "--out", "t.h5:/T", "--memory",
                       "2KiB", "--out-of-core",
                       "never", words="allows")


class Streaming(tessera.Case):
    """Files of more than 64 MiB, whose transposes fit in memory."""
    IN_TILES = "out_of_core"

    def setUp(self):
        super().setUp()
        self.a = numpy.random.default_rng(tessera.SEED).random((3001, 2900))

    def transpose(self, *words, ranks=0):
        result = self.succeed("transpose", "--in", "a.h5:/A", "--out", "t.h5:/T", "--overwrite",
                              *words, ranks=ranks)
        return result.out

    def test_conversions_stream(self):
        tessera.write_matrix(self.path("a.h5"), self.a)
        for ranks in (0, 3):
            self.assertIn(self.IN_TILES, self.transpose(ranks=ranks))
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), self.a.T)
        self.succeed("verify", "t.h5")

    @unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
    def test_four_tiles_are_held(self):
        name = tessera.write_matrix(self.path("a.h5"), self.a)
        small = tessera.write_matrix(self.path("s.h5"), self.a[:8, :8])
        base = self.own_memory("transpose", "--in", small, "--out", "s2.h5:/T")
        peak = self.own_memory("transpose", "--in", name, "--out", "t.h5:/T")
        self.assertLess(peak, base + (96 << 20))

    def test_measurements_stay_in_memory(self):
        tessera.write_matrix(self.path("a.h5"), self.a)
        for words in (("--repetitions", 2), ("--algorithm", "pairwise"), ("--kernel", "tiled"),
                      ("--counters",), ("--out-of-core", "never")):
            with self.subTest(words=words):
                self.assertNotIn(self.IN_TILES, self.transpose(*words))

    def test_chunks_larger_than_tiles_are_read_once(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("A", data=self.a, chunks=self.a.shape)
        self.assertNotIn(self.IN_TILES, self.transpose())

    def test_short_runs_stay_in_memory(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file["A"] = numpy.zeros((4, 2300, 2300, 4), "u1")
        self.assertNotIn(self.IN_TILES, self.transpose("--axes", "3,2,1,0"))


class Refusals(tessera.Case):
    def setUp(self):
        super().setUp()
        self.cube = tessera.write_matrix(self.path("cube.h5"), numpy.zeros((2, 3, 4)), name="U")
        self.a = tessera.write_matrix(self.path("a.h5"), numpy.zeros((4, 6)))
        self.integers = tessera.write_matrix(self.path("i.h5"), numpy.zeros((4, 6), "i4"))

    def test_wrong_requests_are_64(self):
        for words, message in [
                (("--in", self.cube, "--axes", "0,1"), "permutation"),
                (("--in", self.cube, "--axes", "0,1,1"), "permutation"),
                (("--in", self.cube, "--axes", "0,1,x"), "list of numbers"),
                (("--in", self.cube, "--axes", "2,1,0", "--kernel", "naive"), "cache_oblivious"),
                (("--in", self.cube, "--axes", "2,1,0", "--op", "N"), "drop one of the two"),
                (("--in", self.a, "--axes", "1,0", "--op", "H"), "drop one of the two"),
                (("--in", self.integers, "--alpha", "2"), "--type f64"),
                (("--in", self.a, "--beta", "1"), "--c"),
                (("--n", 9, "--alpha", "1e39", "--type", "f32"), "cannot represent --alpha 1e39"),
                (("--n", 9, "--beta", "1e-46", "--type", "c64"), "cannot represent --beta 1e-46"),
                (("--in", self.a, "--c", self.a), "no effect"),
                (("--in", self.a, "--in-place", "--op", "N"), "drop --in-place, or --op"),
                (("--in", self.a, "--kernel", "in_place", "--op", "N"),
                 "drop --kernel in_place, or --op"),
                (("--in", self.cube, "--axes", "2,1,0", "--beta", 1),
                 "--alpha and --beta require a matrix"),
                (("--in", self.a, "--in-place", "--kernel", "naive"), "in-place"),
                (("--in", self.a, "--out", "a.h5:/B"), "same file"),
                (("--shape", "3,4", "--n", "3"), "--axes"),
                (("--shape", "3,4,5", "--axes", "2,1,0", "--m", "4"), "--m (flag)"),
                (("--n", "9", "--type", "c64", "--op", "H", "--out", "t.h5:/T", "--out-of-core",
                  "always"), "--op H")]:
            with self.subTest(words=words):
                self.fail_with(tessera.USAGE, "transpose", *words, words=message)

    def test_rectangles_in_place_need_one_rank(self):
        self.fail_with(tessera.USAGE, "transpose", "--in", self.a, "--in-place", words="square",
                       ranks=2)

    def test_wrong_data_is_65(self):
        self.fail_with(tessera.BAD_DATA, "transpose", "--in", self.cube, words="--axes")
        self.fail_with(tessera.BAD_DATA, "transpose", "--in", self.a, "--c", self.a, "--beta", 1,
                       words="6 x 4")
        with h5py.File(self.path("text.h5"), "w") as file:
            file.create_dataset("T", data=numpy.array([["a", "bc"]], dtype=object),
                                dtype=h5py.string_dtype())
        self.fail_with(tessera.BAD_DATA, "transpose", "--in", self.path("text.h5") + ":/T",
                       words="variable length")
        for name, type_ in ((self.a, "c64"), (self.integers, "c128")):
            self.fail_with(tessera.BAD_DATA, "transpose", "--in", name, "--type", type_, "--out",
                           "t.h5:/T", words=("--type", type_))
            self.assertFalse(os.path.exists(self.path("t.h5")))

    def test_too_much_memory_is_71_before_anything_is_allocated(self):
        self.fail_with(tessera.MEMORY, "transpose", "--n", 4096, "--memory", "1MiB", words="allows",
                       ranks=2)

    def test_the_plan_computes_nothing(self):
        before = tessera.snapshot(self.folder)
        result = self.succeed("transpose", "--in", self.a, "--out", "t.h5:/T", "--plan", ranks=2)
        self.assertIn("home", result.out)
        self.assertEqual(tessera.snapshot(self.folder), before)


if __name__ == "__main__":
    tessera.main()
