"""tessera stencil with coefficients, sources, masks and several fields: equal bits in all
configurations, files, checkpoints, refusals."""

import concurrent.futures
import os
import random
import re
import unittest
import xml.etree.ElementTree

import tessera
from tessera import h5py, numpy

TERMS = ("--coefficients", "k.h5:/k", "--source", "q.h5:/q", "--source-factor", 0.25, "--mask",
         "m.h5:/m")
KERNELS = ("auto", "naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious")


class Fields(tessera.Case):
    SHAPE = (61, 53)

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.k, self.q = rng.uniform(0, 1, self.SHAPE), rng.uniform(-1, 1, self.SHAPE)
        self.m = (rng.random(self.SHAPE) > 0.1).astype("i1")
        for name in "kqm":
            tessera.write_matrix(self.path(f"{name}.h5"), getattr(self, name), name=name)
        self.fields = {name: rng.uniform(-1, 1, self.SHAPE) for name in "uvw"}
        with h5py.File(self.path("in.h5"), "w") as file:
            for name, values in self.fields.items():
                file[name] = values

    def hash_of(self, *words, **how):
        result = self.succeed("stencil", *words, **how)
        return re.search(r" ([0-9a-f]{16}(,[0-9a-f]{16})*) ", result.out).group(1)


class Bits(Fields):
    def test_terms_give_the_same_bits_for_ranks_halos_kernels_and_threads(self):
        rng = random.Random(tessera.SEED)
        for name, boundary in (("heat", "periodic"),
                               ("wave", "y=periodic,x-=mirror,x+=constant:0.5")):
            words = ("--in", "in.h5:/u", "--stencil", name, "--boundary", boundary, "--steps", 23,
                     *TERMS)
            alone = self.hash_of(*words, "--kernel", "naive", "--halo-steps", 1)
            ways = [(ranks, rng.randint(1, 16), rng.choice(KERNELS), rng.choice((1, 2)),
                     rng.choice(("no", "yes")),
                     rng.choice(("messages", "shared")))
                    for ranks in (0, 1, 2, 3, 4, 6, 7)]
            ways += [(0, 0, kernel, 2, "no", "auto") for kernel in KERNELS]

            def one(way):
                ranks, halo, kernel, threads, overlap, exchange = way
                return self.hash_of(*words, "--kernel", kernel, "--halo-steps", halo, "--threads",
                                    threads, "--overlap",
                                    overlap, "--exchange", exchange, ranks=ranks, threads=threads)

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                got = list(pool.map(one, ways))
            self.assertEqual([way for way, bits in zip(ways, got) if bits != alone], [], alone)

    def test_several_fields_have_the_bits_of_each_alone(self):
        words = ("--stencil", "wave", "--steps", 20, "--boundary", "x=periodic", *TERMS)
        alone = [self.hash_of("--in", f"in.h5:/{name}", *words) for name in "uvw"]
        for ranks, halo, overlap in ((0, 0, "no"), (4, 3, "yes"), (7, 5, "no")):
            self.assertEqual(self.hash_of("--in", "in.h5:/u,/v,in.h5:/w", *words, "--halo-steps",
                                          halo, "--overlap", overlap,
                                          ranks=ranks), ",".join(alone))


class Files(Fields):
    def test_every_field_goes_to_its_dataset_snapshot_and_series(self):
        self.succeed("stencil", "--in", "in.h5:/u,/v", "--steps", 20, "--out", "o.h5:/a/u,/a/v",
                     "--snapshots", "s.h5:/u,/v",
                     "--every", 10, "--xdmf", "--probe", "3,4", "--norms", "--results", "r.h5",
                     ranks=3)
        for name in "uv":
            self.succeed("stencil", "--in", f"in.h5:/{name}", "--steps", 20, "--out",
                         f"{name}1.h5:/u")
            alone = tessera.read_matrix(self.path(f"{name}1.h5"), "u")
            got = tessera.read_matrix(self.path("o.h5"), f"a/{name}")
            self.assertEqual(got.tobytes(), alone.tobytes())
            frames = tessera.read_matrix(self.path("s.h5"), name)
            self.assertEqual(frames[0].tobytes(), self.fields[name].tobytes())
            self.assertEqual(frames[2].tobytes(), alone.tobytes())
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual(file["VTKHDF/PointData"][name].id.get_offset(),
                                 file[name].id.get_offset())
                self.assertEqual(file["VTKHDF/Steps/PointDataOffsets"][name][:].tolist(), [0, 1, 2])
            with h5py.File(self.path("r.h5")) as file:
                table = file["stencil_0001/series"]
                rows = {(q, s): v for q, s, v in zip(table["quantity"].asstr()[:], table["step"][:],
                                                     table["value"][:])}
            self.assertEqual((rows[f"{name}:3,4", 20], rows[f"{name}:max", 20]),
                             (alone[4, 3], alone.max()))
        for name in ("o", "s"):
            with open(self.path(f"{name}.xdmf")) as file:
                self.assertEqual(file.read().count("<Attribute "), 2 if name == "o" else 6)
            self.assertRegex(self.succeed("verify", f"{name}.h5").out, r":(/a)?/u .*\n.*:(/a)?/v ")

    def test_fields_of_one_name_and_names_that_mean_something_in_xml(self):
        with h5py.File(self.path("<&>.h5"), "w") as file:
            for name, there in (("a/u", "u"), ("b/u", "v"), ("c/u_2", "w")):
                file[name] = self.fields[there]
        self.succeed("stencil", "--in", "<&>.h5:/a/u,/b/u,/c/u_2", "--steps", 3, "--out",
                     "o<&>.h5:/a/u,/b/u,/c/u_2", "--xdmf")
        with h5py.File(self.path("o<&>.h5")) as file:
            for name, path in (("u", "a/u"), ("u_2", "b/u"), ("u_2_3", "c/u_2")):
                self.assertEqual(file["VTKHDF/PointData"][name].id.get_offset(),
                                 file[path].id.get_offset())
        grid = xml.etree.ElementTree.parse(
            self.path("o<&>.xdmf")).getroot().find("Domain/Grid/Grid")
        self.assertEqual([(one.get("Name"), one.find("DataItem").text)
                          for one in grid.findall("Attribute")],
                         [("u", "o<&>.h5:/a/u"), ("u_2", "o<&>.h5:/b/u"),
                          ("u_2_3", "o<&>.h5:/c/u_2")])

    def test_a_checkpoint_holds_every_field_and_knows_what_the_steps_read(self):
        words = ("--in", "in.h5:/u,/v", "--past", "in.h5:/v,/w", "--stencil", "wave", *TERMS,
                 "--checkpoint", "c.h5",
                 "--checkpoint-every", 10)
        whole = self.hash_of(*words[:-4], "--steps", 30)
        self.succeed("stencil", *words, "--steps", 17, ranks=2)
        self.assertEqual(self.hash_of(*words, "--steps", 30, "--resume", "auto", ranks=3), whole)
        for changed in (("--source-factor", 0.5), ("--mask", "k.h5:/k"),
                        ("--coefficients", "q.h5:/q"), ("--in", "in.h5:/u")):
            other = list(words)
            other[other.index(changed[0]) + 1] = changed[1]
            if changed[0] == "--in":
                other[other.index("--past") + 1] = "in.h5:/v"
            self.fail_with(tessera.USAGE, "stencil", *other, "--steps", 40, "--resume", "auto",
                           words="another problem")
        self.fail_with(tessera.USAGE, "stencil", "--in", "in.h5:/u", "--stencil", "wave",
                       "--checkpoint", "c.h5", "--resume",
                       "auto", words="another problem", ranks=2)

    def test_a_checkpoint_knows_what_lies_beyond_given_sides(self):
        for name, value in (("g", 1.0), ("h", 2.0)):
            tessera.write_matrix(self.path(f"{name}.h5"), numpy.full((63, 55), value), name="g")
        words = ["--in", "in.h5:/u", "--boundary", "given", "--checkpoint", "c.h5", "--resume",
                 "auto", "--given"]
        self.succeed("stencil", *words, "g.h5:/g", "--steps", 5, "--checkpoint-every", 5)
        self.assertIn("resumed", self.succeed("stencil", *words, "g.h5:/g", "--steps", 9).out)
        self.fail_with(tessera.USAGE, "stencil", *words, "h.h5:/g", "--steps", 9,
                       words="another problem")


class Meaning(Fields):
    def test_zero_coefficients_and_zero_masks_keep_the_field(self):
        tessera.write_matrix(self.path("z.h5"), numpy.zeros(self.SHAPE), name="z")
        for option, stencil in (("--coefficients", "box5x5"), ("--mask", "heat"),
                                ("--mask", "wave")):
            self.succeed("stencil", "--in", "in.h5:/u", "--stencil", stencil, option, "z.h5:/z",
                         "--steps", 12, "--out",
                         "o.h5:/u", "--overwrite", ranks=2)
            self.assertEqual(tessera.read_matrix(self.path("o.h5"), "u").tobytes(),
                             self.fields["u"].tobytes())

    def test_a_source_alone_adds_up(self):
        self.succeed("stencil", "--shape", "61x53", "--init", "zero", "--weights", "1", "--source",
                     "m.h5:/m",
                     "--source-factor", 0.5, "--steps", 8, "--out", "o.h5:/u", ranks=3)
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("o.h5"), "u"), 4.0 * self.m)

    def test_coefficients_are_the_squared_speed_of_a_wave(self):
        u, past = self.fields["u"], self.fields["u"]
        for _ in range(9):
            grown = numpy.pad(u, 1, "edge")
            laplace = grown[2:, 1:-1] + grown[:-2, 1:-1] + grown[1:-1,
                                                                 2:] + grown[1:-1, :-2] - 4 * u
            u, past = 2 * u - past + 0.25 * self.k * laplace, u
        self.succeed("stencil", "--in", "in.h5:/u", "--stencil", "wave", "--coefficients",
                     "k.h5:/k", "--steps", 9, "--out",
                     "o.h5:/u", ranks=2)
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("o.h5"), "u"), u, atol=1e-12)

    def test_the_plan_counts_them(self):
        one = self.succeed("stencil", "--in", "in.h5:/u", "--plan").out
        more = self.succeed("stencil", "--in", "in.h5:/u,/v", *TERMS, "--plan").out
        self.assertIn("with coefficients, source, mask on 2 fields", more)
        self.assertGreater(len(more), len(one))


class Refusals(Fields):
    def test_wrong_requests_are_64(self):
        u = ("--in", "in.h5:/u")
        for words, message in [
                ((*u, "--source-factor", 2), "--source"),
                ((*u, *TERMS, "--stencil", "life"), "not a weighted sum"),
                ((*u, *TERMS, "--device", "gpu"), "GPU kernels do not"),
                ((*u, "--mask", "m.h5:/m,/m"), "one dataset"),
                ((*u, "--mask", "m.h5:/m", "--out", "m.h5:/u"), "same file"),
                ((*u, "--mask", "m.h5:/m", "--results", "m.h5"), "same file"),
                (("--in", "in.h5:/u,/v", "--out", "o.h5:/u"), "one per field"),
                (("--in", "in.h5:/u,/v", "--out", "o.h5:/u,/u"), "twice"),
                (("--in", "in.h5:/u,/v", "--stencil", "wave", "--past", "in.h5:/u"),
                 "one per field"),
                (("--in", "in.h5:/u,/v", "--out", "o.h5:/u,in.h5:/v"), "same file")]:
            with self.subTest(words=words):
                self.fail_with(tessera.USAGE, "stencil", *words, words=message,
                               ranks=random.choice((0, 2)))

    def test_fields_of_another_shape_are_65_and_missing_ones_66(self):
        tessera.write_matrix(self.path("s.h5"), numpy.zeros((5, 5)), name="s")
        for option in ("--coefficients", "--source", "--mask"):
            self.fail_with(tessera.BAD_DATA, "stencil", "--in", "in.h5:/u", option, "s.h5:/s",
                           words="61 x 53")
        self.fail_with(tessera.BAD_DATA, "stencil", "--in", "in.h5:/u,s.h5:/s", words="61 x 53",
                       ranks=2)
        self.fail_with(tessera.MISSING, "stencil", "--in", "in.h5:/u,/x", words="no dataset '/x'",
                       ranks=2)
        self.fail_with(tessera.MISSING, "stencil", "--in", "in.h5:/u", "--mask", "none.h5:/m",
                       words="none.h5")


if __name__ == "__main__":
    tessera.main()
