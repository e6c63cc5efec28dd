"""tessera stencil --type f16 against numpy's float16: the same bits for all kinds of files, ranks,
kernels and boundaries."""

import os
import random
import re

import tessera
from stencil_cases import Random, Side, boundary, draw_frame, has_given, pad
from stencil_gpu import devices
from tessera import USAGE, h5py, numpy

RANKS = (0, 1, 4, 6, 7)
KERNELS = ("auto", "naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious")
STENCILS = {  # weights, the previous level, points of the boxes summed by doubling
    "heat": (numpy.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 8, 0, 0),
    "advection": (numpy.array([[0, 2, 0], [4, 10, 0], [0, 0, 0]]) / 16, 0, 0),
    "wave": (numpy.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4, -1, 0),
    "box3x3": (numpy.full((3, 3), 1 / 9), 0, 3),
    "box5x5": (numpy.full((5, 5), 1 / 25), 0, 5),
    "box7x7": (numpy.full((7, 7), 1 / 49), 0, 7),
    "box9x9": (numpy.full((9, 9), 1 / 81), 0, 9),
}


def fused(a, b, c):
    """Returns fma(a, b, c) in f32: products are exact in f64. (Misses sums that f64 rounds to the
    middle between two f32.)"""
    return (a.astype("f8") * b.astype("f8") + c.astype("f8")).astype("f4")


def doubled(at, radius):
    two = lambda i: at(i) + at(i + 1)
    four = lambda i: two(i) + two(i + 2)
    first = -radius
    if radius == 1:
        return two(first) + at(1)
    if radius == 2:
        return four(first) + at(2)
    if radius == 3:
        return (four(first) + two(1)) + at(3)
    return (four(first) + four(0)) + at(4)


def step(u, past, weights, previous, width, sides, frame):
    """Returns one step in f32, in the order of the stencil, rounded to halves once."""
    radii = [n // 2 for n in weights.shape]
    wide = pad(u, radii, sides, frame).astype("f4")
    near = lambda offset: wide[tuple(slice(r + o, r + o + n)
                                     for r, o, n in zip(radii, offset, u.shape))]
    if width:
        columns = lambda x: doubled(lambda y: near((y, x)), width // 2)
        result = doubled(columns, width // 2) * numpy.float32(weights[0, 0])
    else:
        result = None
        for place in zip(*numpy.nonzero(weights)):
            weight = numpy.float32(weights[place])
            value = near([p - r for p, r in zip(place, radii)])
            result = weight * value if result is None else fused(weight, value, result)
        if previous:
            result = fused(numpy.float32(previous), past.astype("f4"), result)
    return result.astype("f2")


class Drawn:
    """A run with random choices from its number."""

    kind = "f2"

    def __init__(self, number):
        rng = random.Random(f"{tessera.SEED} half {number}")
        values = numpy.random.default_rng([tessera.SEED, number, 16])
        self.number, self.ranks, self.threads = number, RANKS[number % len(RANKS)], rng.choice([1,
                                                                                                2])
        self.steps, self.kernel, self.halo = rng.choice(
            [0, 1, 3, 8]), rng.choice(KERNELS), rng.choice([0, 1, 2, 5])
        self.more = rng.choice([[], ["--overlap", "yes"], ["--exchange", "messages"]])
        self.name = rng.choice([*STENCILS, "weights"])
        if self.name == "weights":
            dims = rng.choice([1, 2, 3])
            shape = tuple(rng.choice([1, 3, 5]) for _ in range(dims))
            weights = values.uniform(-1, 1, shape)
            self.stencil = (weights / abs(weights).sum(), 0, 0)
        else:
            self.stencil = STENCILS[self.name]
        limit = {1: 2500, 2: 95, 3: 24}[self.stencil[0].ndim]
        self.shape = tuple(rng.choice([1, 2, limit // 2, limit, rng.randint(1, limit)])
                           for _ in self.stencil[0].shape)
        self.storage, self.type = rng.choice(tessera.STORAGES), rng.choice(("f16", "f16", "f16_big",
                                                                            "f32", "f64", "i16"))
        kind = tessera.ELEMENTS.get(self.type, ">f2")
        scale = rng.choice([1, 1e-4, 1000])
        self.u = (values.uniform(-100, 100, self.shape) if self.type == "i16"
                  else values.uniform(-scale, scale, self.shape)).astype(kind)
        kinds = ["clamp", "mirror", "reflect", "constant", "given"]
        self.sides = []
        for _ in self.shape:
            low, high = rng.choice([(rng.choice(kinds), rng.choice(kinds)),
                                    ("periodic", "periodic")])
            self.sides.append([Side(low, 0.7), Side(high, -1.3)])
        self.frame = draw_frame(values, self.shape, [n // 2 for n in self.stencil[0].shape],
                                self.sides)

    def write(self, case):
        """Writes the operands to files; returns the command's words."""
        weights = self.stencil[0]
        words = ["--in", tessera.write_matrix(case.path(f"{self.number}a.h5"), self.u, self.storage,
                                              "u"), "--type", "f16"]
        if self.name == "weights":
            words += ["--weights", tessera.write_matrix(case.path(f"{self.number}w.h5"), weights,
                                                        name="w")]
        else:
            words += ["--stencil", self.name]
        words += ["--boundary", boundary(self.sides)]
        if has_given(self.sides):
            words += ["--given", tessera.write_matrix(case.path(f"{self.number}g.h5"),
                                                      self.frame.values, name="g")]
        return words + ["--steps", self.steps, "--kernel", self.kernel, "--halo-steps", self.halo,
                        *self.more]

    def want(self):
        u = past = self.u.astype("f2")
        for _ in range(self.steps):
            u, past = step(u, past, *self.stencil, self.sides, self.frame), u
        return u

    def difference(self, got, want):
        wrong = int((got.view("u2") != want.view("u2")).sum())
        return f"{wrong} of {got.size} differ" if wrong else ""

    def __str__(self):
        return (f"case {self.number}: {self.name} {self.stencil[0].shape} on {self.type} "
                f"{self.shape} stored {self.storage}, "
                f"{self.steps} steps, "
                f"{' '.join(str(side) for both in self.sides for side in both)}, kernel "
                f"{self.kernel}, "
                f"halo {self.halo}, {self.ranks} ranks x {self.threads}, {self.more}")


class Solid(Drawn):
    """A star in three dimensions for which GPUs compute several steps per pass."""

    def __init__(self, number):
        super().__init__(number)
        rng = random.Random(f"{tessera.SEED} solid {number}")
        values = numpy.random.default_rng([tessera.SEED, number, 17])
        weights = numpy.zeros((3, 3, 3))
        for place in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)):
            weights[place] = values.uniform(-1, 1)
        self.name, self.stencil = "weights", (weights / abs(weights).sum(), 0, 0)
        self.ranks, self.steps, self.base_steps = rng.choice([0, 1, 2, 3]), rng.randint(
            2, 9), (2, 3, 4)[number % 3]
        self.shape, self.type = (rng.randint(8, 40), rng.randint(8, 120),
                                 rng.randint(20, 300)), "f16"
        self.u = values.uniform(-1, 1, self.shape).astype("f2")
        if number % 4:
            kinds = ["clamp", "mirror", "reflect", "constant"]
            self.sides = [[Side(rng.choice(kinds), 0.7), Side(rng.choice(kinds), -1.3)]
                          if rng.randint(0, 3) else
                          [Side("periodic", 0), Side("periodic", 0)] for _ in self.shape]
        else:  # multi-step passes do not support given values: step by step
            self.sides = [[Side("given", 0), Side("mirror", 0)] for _ in self.shape]
        self.frame = draw_frame(values, self.shape, [1, 1, 1], self.sides)
        self.kernel, self.more = "cuda_temporal", ["--device", "gpu", "--base-steps",
                                                   self.base_steps]


class OnGpus(Random):
    def setUp(self):
        super().setUp()
        if devices() == 0 or "no CUDA" in tessera.run("machine", "--show").out:
            self.skipTest("no GPU is here")

    def test_solids_have_numpys_bits_however_long_a_pass(self):
        self.check_all(Solid, 48 if tessera.SLOW else 24)


class AgainstNumpy(Random):
    def test_random_cases_have_its_bits(self):
        self.check_all(Drawn, 200 if tessera.SLOW else 50)


class Rounding(tessera.Case):
    def test_files_are_rounded_as_numpy_rounds(self):
        """Midpoints between two halves and their neighbours; infinity and NaN; integers."""
        halves = numpy.arange(0x7c00, dtype="u2").view("f2").astype("f8")
        middle = (halves[1:] + halves[:-1]) / 2
        values = numpy.concatenate([middle, middle * (1 + 1e-15), middle * (1 - 1e-15), halves,
                                    [65519.99, 1e-300, numpy.inf]])
        values = numpy.concatenate([values, -values, [numpy.nan]])
        for kind in ("f8", "f4", ">f8", "i4", "u8"):
            with self.subTest(kind=kind):
                stored = values.astype(kind) if "f" in kind else \
                    numpy.abs(halves[halves == numpy.round(halves)]).astype(kind)
                if kind == "f4":
                    stored = stored[numpy.isinf(stored) | (abs(stored) < 65520)
                                    | numpy.isnan(stored)]
                name = tessera.write_matrix(self.path(f"{kind[-2:]}.h5"), stored, name="u")
                self.succeed("stencil", "--in", name, "--type", "f16", "--steps", 0, "--out",
                             "out.h5:/u", "--overwrite", "--no-verify",
                             ranks=3)
                want = stored.astype("f2")
                got = tessera.read_matrix(self.path("out.h5"), "u")
                same = (got.view("u2") == want.view("u2")) | (numpy.isnan(got) & numpy.isnan(want))
                self.assertTrue(same.all(), f"{(~same).sum()} of {same.size}, {stored[~same][:5]}")

    def test_what_halves_cannot_hold_is_refused(self):
        for kind, value in (("f8", 65520), ("f8", -1e300), ("i4", 65520), ("u8", 2049)):
            tessera.write_matrix(self.path("u.h5"), numpy.array([1, value, 3]).astype(kind),
                                 name="u")
            self.fail_with(tessera.BAD_DATA, "stencil", "--in", "u.h5:/u", "--type", "f16",
                           "--steps", 0, words="f16 cannot represent")

    def test_halves_go_in_and_out_unchanged(self):
        """All halves, including NaNs, in either byte order."""
        for kind in ("<f2", ">f2"):
            bits = numpy.arange(65536, dtype="u2").astype(kind.replace("f", "u")).view(kind)
            name = tessera.write_matrix(self.path(f"{kind[0] == '<'}.h5"), bits, name="u")
            self.succeed("stencil", "--in", name, "--type", "f16", "--steps", 0, "--out",
                         "out.h5:/u", "--overwrite", "--no-verify", ranks=4)
            got = tessera.read_matrix(self.path("out.h5"), "u")
            numpy.testing.assert_array_equal(got.view("u2"), numpy.arange(65536, dtype="u2"))

    def test_a_step_adds_half_a_unit_of_the_largest_value(self):
        """The tolerance stated in the manual, for weights with a sum of magnitudes of 1."""
        u = numpy.random.default_rng(tessera.SEED).uniform(-1, 1, (70, 90)).astype("f2")
        name = tessera.write_matrix(self.path("u.h5"), u, name="u")
        for steps in (1, 20):
            for kind in ("f16", "f64"):
                self.succeed("stencil", "--in", name, "--type", kind, "--steps", steps,
                             "--boundary", "mirror", "--out", f"{kind}.h5:/u",
                             "--overwrite", ranks=2)
            off = abs(tessera.read_matrix(self.path("f16.h5"), "u").astype("f8")
                      - tessera.read_matrix(self.path("f64.h5"), "u")).max()
            self.assertLessEqual(off, 1.01 * steps * 2**-11)
            self.assertGreater(off, 0)


class Command(tessera.Case):
    def hash_of(self, *words, **how):
        result = self.succeed("stencil", "--type", "f16", *words, timeout=120, **how)
        return re.search(r" ([0-9a-f]{16}(?:,[0-9a-f]{16})*) ", result.out).group(1)

    def test_every_instruction_set_has_the_same_bits(self):
        for stencil in ("heat", "wave", "box5x5", "life"):
            words = ("--shape", "113x257", "--stencil", stencil, "--steps", 20, "--boundary",
                     "x=periodic,y-=constant:0.3")
            hashes = {self.hash_of(*words, "--kernel", kernel,
                                   environment={"TESSERA_ISA": isa} if isa else None)
                      for isa in ("", "baseline") for kernel in ("naive", "streaming",
                                                                 "cache_oblivious")}
            self.assertEqual(len(hashes), 1, stencil)

    def test_the_sum_is_checked_within_half_a_unit_a_step(self):
        for init in ("random", "gaussian"):
            self.hash_of("--shape", "133x147", "--init", init, "--steps", 200, "--boundary",
                         "periodic", "--results", "r.h5", "--again", ranks=3)
            with h5py.File(self.path("r.h5")) as file:
                summary = file[sorted(file)[-1]]["summary"]
                self.assertEqual(summary["verification_method"].asstr()[0], "samples and sum")
                self.assertEqual(summary["type"].asstr()[0], "f16")

    def test_checkpoints_and_snapshots_hold_halves(self):
        words = ["--shape", "60x50", "--stencil", "wave", "--boundary", "reflect"]
        want = self.hash_of(*words, "--steps", 30, ranks=2)
        self.hash_of(*words, "--steps", 11, "--checkpoint", "ck.h5", "--checkpoint-every", 5,
                     ranks=4)
        got = self.hash_of(*words, "--steps", 30, "--resume", "ck.h5", "--snapshots", "s.h5:/u",
                           "--every", 10, "--out", "u.h5:/u", ranks=3)
        self.assertEqual(got, want)
        with h5py.File(self.path("s.h5")) as file, h5py.File(self.path("u.h5")) as last:
            self.assertEqual(file["u"].dtype, numpy.dtype("f2"))
            numpy.testing.assert_array_equal(file["u"][-1], last["u"][...])
        self.assertIn(want, self.succeed("verify", "u.h5").out)
        self.fail_with(USAGE, "stencil", *words, "--type", "f32", "--steps", 30, "--resume",
                       "ck.h5", words="another problem")

    def test_several_fields_and_series(self):
        rng = numpy.random.default_rng(tessera.SEED)
        with h5py.File(self.path("in.h5"), "w") as file:
            for name in "uv":
                file[name] = rng.standard_normal((90, 77)).astype("f2")
        words = ("--in", "in.h5:/u,/v", "--steps", 12, "--probe", "3,4", "--norms", "--probe-every",
                 6, "--results", "r.h5", "--again")
        self.assertEqual(self.hash_of(*words), self.hash_of(*words, ranks=6))
        with h5py.File(self.path("r.h5")) as file:
            first, second = (file[name]["series"]["value"][...] for name in sorted(file)[:2])
        numpy.testing.assert_allclose(first, second, rtol=1e-12)

    def test_auto_computes_files_of_halves_in_f32(self):
        name = tessera.write_matrix(self.path("u.h5"), numpy.ones((8, 9), "f2"), name="u")
        self.succeed("stencil", "--in", name, "--steps", 2, "--out", "v.h5:/u")
        self.assertEqual(tessera.read_matrix(self.path("v.h5"), "u").dtype, numpy.dtype("f4"))

    def test_what_halves_cannot_is_refused(self):
        mask = tessera.write_matrix(self.path("m.h5"), numpy.ones((8, 9)), name="m")
        self.fail_with(USAGE, "stencil", "--shape", "8x9", "--type", "f16", "--mask", mask,
                       words="f32 or f64", ranks=2)
        self.fail_with(USAGE, "stencil", "--shape", "8x9", "--type", "half", words="f16")

    def test_the_plan_knows_their_size(self):
        words = ("stencil", "--shape", "4096x4096", "--plan", "--steps", 10)
        memory = lambda kind: float(re.search(r"holds at most ([\d.]+) MiB",
                                              self.succeed(*words, "--type", kind).out).group(1))
        half, single = memory("f16") - 20, memory("f32") - 20  # excluding the fields
        self.assertLess(half, 0.6 * single)


if __name__ == "__main__":
    tessera.main()
