"""tessera stencil against scipy.ndimage.correlate: shapes, weights, boundaries, types, storage,
ranks, halos, kernels."""

import random
import sys
import unittest

import machine_file
import tessera
from stencil_cases import Random, Side, boundary, draw_frame, has_given, pad
from tessera import h5py, numpy

try:
    from scipy import ndimage
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); apt-get install python3-scipy")
    sys.exit(tessera.SKIPPED)

RANKS = (0, 1, 2, 3, 4, 6, 7)
MODES = {"clamp": "nearest", "mirror": "mirror", "reflect": "reflect", "periodic": "wrap",
         "constant": "constant"}
KERNELS = ("auto", "auto", "naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious")
TERMS = ("coefficients", "source", "mask")
TYPES = ("f32", "f64", "f32", "f64", "i16", "u8", "f32_big", "f16")


class Drawn:
    """A run with random choices from its number."""

    def __init__(self, number):
        rng = self.rng = random.Random(f"{tessera.SEED} stencil {number}")
        self.values = numpy.random.default_rng([tessera.SEED, number, 5])
        self.number = number
        self.ranks = RANKS[number % len(RANKS)]
        self.threads = rng.choice([1, 2])
        self.type = rng.choice(TYPES)
        self.kind = "f4" if self.type in ("f32", "f32_big", "f16") else "f8"
        self.storage = rng.choice(tessera.STORAGES)
        self.dims = rng.choice([1, 2, 2, 2, 3, 3])
        limit = {1: 3000, 2: 90, 3: 26}[self.dims]
        self.shape = tuple(rng.choice([1, 2, 3, 5, limit // 2, limit, rng.randint(1, limit)])
                           for _ in range(self.dims))
        self.weights = self.draw_weights()
        self.radii = [max([abs(int(i) - n // 2) for i in numpy.nonzero(self.weights)[axis]])
                      for axis, n in enumerate(self.weights.shape)]
        self.steps = rng.choice([0, 1, 1, 2, 3, 7])
        self.previous = rng.choice([0, 0, 0, -0.5])
        self.weights /= abs(self.weights).sum() + abs(self.previous)
        self.previous /= 1 + abs(self.previous)
        self.draw_sides()
        self.kernel, self.halo_steps = rng.choice(KERNELS), rng.choice([0, 0, 1, 2, 5, 16])
        self.terms = [term for term in TERMS if rng.random() < rng.choice([0, 0.6])]

    def draw_weights(self):
        size = {1: 9, 2: 7, 3: 5}[self.dims]
        how = self.rng.choice(["any", "any", "star", "box", "sparse", "even"])
        shape = tuple(self.rng.choice(range(1, size + 1, 2)) for _ in range(self.dims))
        if how == "even":
            shape = tuple(self.rng.randint(1, size) for _ in range(self.dims))
        weights = self.values.uniform(-1, 1, shape)
        if how == "box":
            weights = numpy.ones((self.rng.choice([3, 5]),) * self.dims)
        if how in ("star", "sparse"):
            keep = sum((index != n // 2).astype(int)
                       for index, n in zip(numpy.indices(shape), shape)) <= 1
            keep = keep if how == "star" else self.values.random(shape) < 0.3
            weights = numpy.where(keep, weights, 0)
        if not weights.any():
            weights[tuple(n // 2 for n in weights.shape)] = 1
        return weights

    def draw_sides(self):
        draw = self.rng.choice
        self.sides = []
        kinds = ["clamp", "mirror", "reflect", "constant"] + ["given"] * draw([0, 0, 1])
        uniform = draw([True, False])
        first = draw(kinds + ["periodic"])
        for _ in range(self.dims):
            low, high = (first, first) if uniform else (draw(kinds + ["periodic"]), draw(kinds))
            if "periodic" in (low, high):
                high = low = "periodic"
            self.sides.append([Side(low, draw([0.0, -1.5])), Side(high, draw([0.0, 2.25]))])
        if uniform:
            self.sides = [[self.sides[0][0]] * 2] * self.dims
        self.uniform = uniform and first != "given"

    def boundary(self):
        return str(self.sides[0][0]) if self.uniform else boundary(self.sides)

    def write_weights(self, case):
        how = self.rng.choice(["text", "dataset", "toml"])
        if how == "dataset":
            return ["--weights", tessera.write_matrix(case.path(f"{self.number}w.h5"), self.weights,
                                                      name="W")]
        lists = self.weights.tolist()
        if how == "toml":
            path = case.path(f"{self.number}.toml")
            with open(path, "w") as file:
                file.write(f"weights = {lists}\n")
            return ["--config", path]
        while not isinstance(lists[0], list) or len(self.weights.shape) > 3:
            lists = [lists]
        planes = lists if self.dims == 3 else [lists]
        return ["--weights", " / ".join("; ".join(" ".join(map(repr, row)) for row in plane)
                                        for plane in planes)]

    def write(self, case):
        """Writes the operands to files; returns the command's words."""
        self.u = tessera.draw_values(self.values, self.shape, self.type)
        words = ["--in", tessera.write_matrix(case.path(f"{self.number}a.h5"), self.u, self.storage,
                                              "u")]
        words += self.write_weights(case) + ["--boundary", self.boundary(), "--steps", self.steps,
                                             "--kernel", self.kernel,
                                             "--halo-steps", self.halo_steps]
        self.past = self.u
        if self.previous:
            words += ["--previous", repr(self.previous)]
            if self.rng.random() < 0.7:
                self.past = tessera.draw_values(self.values, self.shape, self.type)
                words += ["--past", tessera.write_matrix(case.path(f"{self.number}p.h5"), self.past,
                                                         "chunked", "p")]
        self.frame = None
        if has_given(self.sides):
            self.frame = draw_frame(self.values, self.shape, self.radii, self.sides)
            words += ["--given", tessera.write_matrix(case.path(f"{self.number}g.h5"),
                                                      self.frame.values, name="g")]
        return words + self.write_terms(case)

    def write_terms(self, case):
        words = ["--source-factor", -0.75] if "source" in self.terms else []
        for term in self.terms:
            values = self.values.uniform(0 if term == "coefficients" else -1, 1, self.shape)
            values = values > -0.5 if term == "mask" else values.astype(self.rng.choice(["f4",
                                                                                         "f8"]))
            setattr(self, term, values if term == "mask" else values.astype("f8"))
            stored = values.astype("i1") if term == "mask" else values
            words += [f"--{term}", tessera.write_matrix(case.path(f"{self.number}{term}.h5"),
                                                        stored, self.storage, "t")]
        return words

    def step(self, u, past):
        if self.uniform:
            side = self.sides[0][0]
            result = ndimage.correlate(u, self.weights, mode=MODES[side.kind], cval=side.value)
        else:
            grown = pad(u, self.radii, self.sides, self.frame)
            inside = tuple(slice(r, r + n) for r, n in zip(self.radii, self.shape))
            result = ndimage.correlate(grown, self.weights, mode="constant")[inside]
        if "coefficients" in self.terms:
            kept = self.weights.sum() * u
            result = kept + self.coefficients * (result - kept)
        result = result + self.previous * past
        if "source" in self.terms:
            result = result - 0.75 * self.source
        return numpy.where(self.mask, result, u) if "mask" in self.terms else result

    def want(self):
        u, past = self.u.astype("f8"), self.past.astype("f8")
        for _ in range(self.steps):
            u, past = self.step(u, past), u
        return u

    def difference(self, got, want):
        largest = max(2.5, abs(self.u).max(initial=0),
                      abs(want).max(initial=0)) * (4 if self.terms else 1)
        tolerance = numpy.finfo(self.kind).eps * (self.weights.size + 2) * max(self.steps,
                                                                               1) * largest
        error = abs(got - want).max(initial=0)
        return "" if error <= tolerance else f"off by {error}, {tolerance} allowed"

    def __str__(self):
        return (f"case {self.number}: {self.type} {self.shape} stored {self.storage}, weights "
                f"{self.weights.shape} radii "
                f"{self.radii}, {self.steps} steps, previous {self.previous}, boundary "
                f"{self.boundary()}, kernel "
                f"{self.kernel}, halo {self.halo_steps}, {', '.join(self.terms)}, {self.ranks} "
                f"ranks x {self.threads} threads")


class AgainstScipy(Random):
    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_random_cases(self):
        self.check_all(Drawn, 40)

    @unittest.skipUnless(tessera.SLOW, "takes minutes; TESSERA_TEST_SLOW=1")
    def test_many_random_cases(self):
        self.check_all(Drawn, 200)


class Command(tessera.Case):
    def test_life_goes_round(self):
        """A glider on a torus returns to its start after 4 steps per edge, on any number of ranks.
        """
        u = numpy.zeros((12, 12), "u1")
        for y, x in ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
            u[y, x] = 1
        name = tessera.write_matrix(self.path("u.h5"), u, name="u")
        for ranks in (1, 4):
            self.succeed("stencil", "--in", name, "--out", "v.h5:/u", "--stencil", "life",
                         "--steps", 48, "--boundary",
                         "periodic", "--overwrite", ranks=ranks)
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("v.h5"), "u"), u)

    def test_arrays_of_bool_are_fields_masks_and_weights(self):
        rng = numpy.random.default_rng(tessera.SEED)
        u, mask, weights = rng.random((20, 30)) > 0.5, rng.random((20,
                                                                   30)) > 0.3, rng.random((3,
                                                                                           3)) > 0.4
        words = [tessera.write_matrix(self.path(f"{name}.h5"), values, "chunked", name)
                 for name, values in (("u", u), ("m", mask), ("w", weights))]
        self.succeed("stencil", "--in", words[0], "--mask", words[1], "--weights", words[2],
                     "--boundary", "constant:0",
                     "--steps", 1, "--out", "v.h5:/u", ranks=2)
        want = ndimage.correlate(u.astype("f8"), weights.astype("f8"), mode="constant")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("v.h5"), "u"),
                                         numpy.where(mask, want, u))

    def test_a_periodic_mode_decays_by_its_eigenvalue(self):
        self.succeed("stencil", "--shape", "40x64", "--init", "cosine", "--boundary", "periodic",
                     "--steps", 50, "--out",
                     "u.h5:/u", ranks=3)
        y, x = 2 * numpy.pi * numpy.arange(40) / 40, 2 * numpy.pi * numpy.arange(64) / 64
        factor = 1 - 0.25 * (2 - numpy.cos(y[1]) - numpy.cos(x[1]))
        want = factor**50 * numpy.cos(y)[:, None] * numpy.cos(x)
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("u.h5"), "u"), want, atol=1e-13)

    def test_an_impulse_answers_with_the_powers_of_the_weights(self):
        """Small integers are exact: every point counts its paths."""
        self.succeed("stencil", "--shape", "31", "--init", "impulse", "--weights", "1 2 3",
                     "--steps", 9, "--boundary",
                     "constant:0", "--out", "u.h5:/u", ranks=4)
        want = [1]
        for _ in range(9):
            want = numpy.convolve(want, [3, 2, 1])
        got = tessera.read_matrix(self.path("u.h5"), "u")
        numpy.testing.assert_array_equal(got[15 - 9:15 + 10], want)
        self.assertEqual(got.sum(), 6**9)

    def test_results_hold_what_was_measured(self):
        self.succeed("stencil", "--shape", "50x40", "--kernel", "naive,auto", "--type", "f32,f64",
                     "--steps", 3,
                     "--repetitions", 2, "--results", "r.h5", ranks=2)
        with h5py.File(self.path("r.h5")) as file:
            summary = file["stencil_0001/summary"]
            self.assertEqual(set(summary["kernel"].asstr()[:]), {"naive", "auto"})
            self.assertTrue((summary["verified"][:] == 1).all())
            self.assertTrue((summary["work"][:] == 50 * 40 * 3).all())
            hashes = summary["hash"].asstr()[:]
            self.assertEqual(len(set(hashes)), 2)
            self.assertEqual(file["stencil_0001/samples/seconds"].shape, (8,))

    def test_the_share_of_the_ceiling_is_that_of_the_bytes_a_step_moves(self):
        """A field is read and written; the previous level and every term are read, too."""
        measured = machine_file.write(self.path("machine.toml"), {"copy": 1000})
        term = tessera.write_matrix(self.path("q.h5"), numpy.zeros((30, 40)), name="q")
        for words, numbers in ((("heat",), 2), (("wave",), 3), (("heat", "--source", term), 3),
                               (("wave", "--source", term), 4)):
            with self.subTest(words):
                self.succeed("stencil", "--shape", "30x40", "--stencil", *words, "--steps", 2,
                             "--results", "c.h5", "--again",
                             environment=measured)
                with h5py.File(self.path("c.h5")) as file:
                    summary = file[max(file)]["summary"]
                    self.assertAlmostEqual(summary["ceiling_share"][0]
                                           / (summary["rate"][0] * numbers * 8 / 1000), 1)

    def test_the_sum_is_checked_where_the_stencil_keeps_it(self):
        self.succeed("stencil", "--shape", "33x47", "--steps", 30, "--boundary", "periodic",
                     "--results", "r.h5", ranks=3)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual(file["stencil_0001/summary/verification_method"].asstr()[0],
                             "samples and sum")

    def test_a_sum_that_is_no_number_checks_nothing(self):
        """NaN and infinity, in the file or by overflow, are not an error of the program."""
        u = numpy.ones((12, 15))
        for name, value in (("nan", numpy.nan), ("inf", numpy.inf)):
            u[3, 4] = value
            path = tessera.write_matrix(self.path(f"{name}.h5"), u, name="u")
            self.succeed("stencil", "--in", path, "--steps", 2, "--boundary", "periodic", "--out",
                         f"{name}_out.h5:/u", ranks=2)
        want = numpy.isfinite(tessera.read_matrix(self.path("nan_out.h5"), "u"))
        self.assertEqual(want.sum(), 12 * 15 - 13)
        for element in ("f16", "f32", "f64"):
            self.succeed("stencil", "--shape", "60", "--weights", "1 -1 1", "--steps", 3000,
                         "--boundary", "periodic", "--type",
                         element, ranks=2)

    def test_more_ranks_than_rows_leave_some_without_a_part(self):
        for shape in ("1", "2x2", "3x1x1", "0x5"):
            self.succeed("stencil", "--shape", shape, "--steps", 4, "--out", "u.h5:/u",
                         "--overwrite", "--results", "r.h5",
                         "--again", ranks=5)

    def test_the_plan_computes_nothing(self):
        before = tessera.snapshot(self.folder)
        result = self.succeed("stencil", "--shape", "100x100", "--out", "u.h5:/u", "--plan",
                              "--ranks", 9)
        self.assertIn("grid 9x1", result.out)
        self.assertEqual(tessera.snapshot(self.folder), before)

    def test_every_stencil_runs_in_all_its_dimensions(self):
        listed = self.succeed("list").out
        names = [line.split() for line in listed.splitlines()
                 if len(line.split()) > 2 and line.split()[1] in "123"
                 and "stencil" not in line.split()[0]]
        self.assertGreaterEqual(len(names), 13, listed)
        for words in names:
            low, high = int(words[1]), int(words[3]) if words[2] == "to" else int(words[1])
            for dims in range(low, high + 1):
                self.succeed("stencil", "--stencil", words[0], "--shape", "x".join(["17"] * dims),
                             "--steps", 5)


class Refusals(tessera.Case):
    def setUp(self):
        super().setUp()
        self.u = tessera.write_matrix(self.path("u.h5"), numpy.zeros((8, 9)), name="u")
        self.deep = tessera.write_matrix(self.path("d.h5"), numpy.zeros((2, 2, 2, 2)), name="u")
        self.w = tessera.write_matrix(self.path("w.h5"), numpy.zeros((3, 3)), name="w")

    def test_boundaries_have_the_names_of_scipy_numpy_and_opencv(self):
        u = numpy.random.default_rng(tessera.SEED).normal(size=(9, 7))
        weights = numpy.arange(25.0).reshape(5, 5) / 300
        name = tessera.write_matrix(self.path("r.h5"), u, name="u")
        tessera.write_matrix(self.path("k.h5"), weights, name="w")
        for mode, names in (("nearest", "nearest edge replicate BORDER_REPLICATE clamp"),
                            ("mirror", "mirror reflect101 BORDER_REFLECT_101 reflect-101"),
                            ("reflect", "reflect symmetric grid-mirror BORDER_REFLECT"),
                            ("wrap", "wrap grid-wrap circular BORDER_WRAP periodic"),
                            ("constant", "zeros zero constant:0 grid-constant:0")):
            want = ndimage.correlate(u, weights, mode=mode)
            for word in names.split():
                self.succeed("stencil", "--in", name, "--weights", "k.h5:/w", "--steps", 1,
                             "--boundary", word, "--out", "o.h5:/u", "--overwrite")
                numpy.testing.assert_allclose(tessera.read_matrix(self.path("o.h5"), "u"), want,
                                              atol=1e-12, err_msg=word)

    def test_wrong_requests_are_64(self):
        for words, message in [
                (("--stencil", "heart"), "did you mean 'heat'"),
                (("--stencil", "box3x3", "--shape", "10"), "not defined in 1"),
                (("--boundary", "mirrored"), "did you mean 'mirror'"),
                (("--boundary", "torus"), "known: clamp"),
                (("--boundary", "nearest:1"), "constant:1.5"),
                (("--boundary", "constant"), "constant:1.5"),
                (("--boundary", "q=clamp"), "x and y"),
                (("--boundary", "x-=periodic"), "periodic on one side"),
                (("--boundary", "x=clamp,x=mirror"), "a side twice"),
                (("--boundary", "x-=clamp,mirror"), "must be first"),
                (("--in", self.u, "--snapshots", "u.h5:/v"), "--snapshots and --in"),
                (("--in", self.u, "--checkpoint", "u.h5"), "--checkpoint and --in"),
                (("--in", self.u + ",/u", "--out", "v.h5:/x,/y"), "'/x' is reserved"),
                (("--in", self.u, "--out", "v.h5:/VTKHDF"), "'/VTKHDF' is reserved"),
                (("--boundary", "given"), "--given"),
                (("--shape", "10y10"), "512x512"),
                (("--shape", "2x2x2x2"), "4 dimensions"),
                (("--shape", "4000000000x4000000000"), "overflows"),
                (("--weights", "1 2; 3"), "equal"),
                (("--weights", "1 a"), "finite number"),
                (("--weights", "1 1e39", "--type", "f32"), "f32 cannot represent --weights 1e+39"),
                (("--weights", "1", "--previous", "1e-46", "--type", "f16"), "--previous 1e-46"),
                (("--boundary", "x+=constant:65520", "--type", "f16"),
                 "f16 cannot represent --boundary 65520"),
                (("--in", self.u, "--source", self.u, "--source-factor", "1e39", "--type", "f32"),
                 "--source-factor 1e39"),
                (("--weights", "1; 2 / 3; 4"), "3 dimensions (2 x 2 x 1)"),
                (("--weights", "0 0; 0 0"), "only zero weights"),
                (("--weights", "1", "--stencil", "heat"), "one of them"),
                (("--previous", "1"), "--weights"),
                (("--in", self.u, "--shape", "4"), "one of them"),
                (("--in", self.u, "--past", self.u), "two time levels"),
                (("--in", self.u, "--given", self.u), "--boundary given"),
                (("--in", self.u, "--out", "u.h5:/v"), "same file"),
                (("--grid", "2"), "not a valid grid"),
                (("--grid", "4x4"), "16 ranks"),
                (("--steps", "-1"), "outside"),
                (("--out", "v.h5:/v", "--steps", "1,2"), "sweep")]:
            with self.subTest(words=words):
                self.fail_with(tessera.USAGE, "stencil", *words, words=message,
                               ranks=random.choice((0, 3)))

    def test_wrong_data_is_65_and_missing_data_66(self):
        with h5py.File(self.path("text.h5"), "w") as file:
            file["t"] = ["a", "b"]
            file["scalar"] = 1.0
            file["nan"] = [[1, numpy.nan]]
            file["c"] = numpy.ones((8, 9), "c16")
        for words, message in [
                (("--in", self.deep), "4-dimensional"),
                (("--in", self.path("text.h5") + ":/t"), "numbers are required"),
                (("--in", self.path("text.h5") + ":/scalar"), "0-dimensional"),
                (("--in", self.path("text.h5") + ":/c"),
                 "elements of c128: real or integer numbers are required"),
                (("--in", self.u, "--mask", self.path("text.h5") + ":/c"), "elements of c128"),
                (("--in", self.u, "--weights", self.path("text.h5") + ":/nan"), "not finite"),
                (("--in", self.u, "--boundary", "given", "--given", self.u), "10 x 11"),
                (("--in", self.u, "--stencil", "wave", "--past", self.w), "8 x 9")]:
            with self.subTest(words=words):
                self.fail_with(tessera.BAD_DATA, "stencil", *words, words=message, ranks=2)
        self.fail_with(tessera.MISSING, "stencil", "--in", "nothing.h5:/u", words="nothing.h5",
                       ranks=2)
        self.fail_with(tessera.MISSING, "stencil", "--in", self.path("u.h5") + ":/v",
                       words="no dataset '/v'")

    def test_too_much_memory_is_71_before_anything_is_allocated(self):
        self.fail_with(tessera.MEMORY, "stencil", "--shape", "4096x4096", "--memory", "20MiB",
                       words="; use ", ranks=2)

    def test_an_output_that_exists_is_73(self):
        self.fail_with(tessera.CANNOT_CREATE, "stencil", "--shape", "4x4", "--out", "w.h5:/w",
                       words="--overwrite")


if __name__ == "__main__":
    tessera.main()
