"""tessera sort of more than memory may hold, against numpy."""

import os

import tessera
from tessera import h5py, numpy

PASSIVE = {"OMP_WAIT_POLICY": "passive"}  # threads beyond the cores must not spin


class OutOfCore(tessera.Case):
    def setUp(self):
        super().setUp()
        self.values = numpy.random.default_rng(tessera.SEED).normal(size=30000)
        self.write(self.values)
        self.request = ("sort", "--in", "in.h5:/K", "--out", "out.h5:/K", "--memory", "64KiB", "--scratch", "runs")

    def write(self, values):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["K"] = values

    def stop_at_run(self, number):
        """An attempt that ends there, as when it is killed: in the place of that run is a folder (the run before it is
        not finished then)."""
        os.makedirs(self.path(f"runs/out.h5.runs/{number:06}.h5/x"))
        self.fail_with(tessera.CANNOT_CREATE, *self.request, words="000003.h5")
        os.rmdir(self.path(f"runs/out.h5.runs/{number:06}.h5/x"))
        os.rmdir(self.path(f"runs/out.h5.runs/{number:06}.h5"))
        self.assertFalse(os.path.exists(self.path("out.h5")))

    def check(self, values):
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(), numpy.sort(values).tobytes())
        self.assertEqual(os.listdir(self.path("runs")), [])  # the runs are gone
        self.succeed("verify", "out.h5")

    def test_an_ended_attempt_goes_on_with_its_runs(self):
        self.stop_at_run(3)
        self.assertIn("resumed: 2 of", self.succeed(*self.request, ranks=1).out)
        self.check(self.values)

    def test_runs_of_other_data_are_not_used(self):
        self.stop_at_run(3)
        self.write(self.values[::-1] + 1)
        self.assertNotIn("resumed", self.succeed(*self.request).out)
        self.check(self.values + 1)

    def test_what_is_damaged_is_made_again(self):
        self.stop_at_run(3)
        with open(self.path("runs/out.h5.runs/000001.h5"), "r+b") as file:
            file.truncate(1000)
        self.assertIn("resumed: 1 of", self.succeed(*self.request).out)
        self.check(self.values)

    def test_the_first_rows_of_data_larger_than_memory(self):
        for top in (0, 1, 700, 20000, 40000):
            for ranks in (1, 3):
                self.succeed(*self.request, "--top", top, "--descending", "--overwrite", ranks=ranks, environment=PASSIVE)
                want = numpy.sort(self.values)[::-1][:top]
                self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(), want.tobytes(), (top, ranks))
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_the_order_alone_by_a_member_that_is_narrower_than_its_row(self):
        n, rng = 20011, numpy.random.default_rng(tessera.SEED)
        table = numpy.zeros(n, dtype=[("a", "<i4"), ("b", "<f8"), ("text", "S30")])
        table["a"] = rng.integers(0, 50, n)
        with h5py.File(self.path("t.h5"), "w") as file:
            file["table"] = table
        for ranks in (1, 3):
            self.succeed("sort", "--in", "t.h5:/table", "--by", "a", "--argsort", "p.h5:/P", "--memory", "512KiB",
                         "--out-of-core", "always", "--overwrite", ranks=ranks, environment=PASSIVE)
            want = numpy.argsort(table["a"], kind="stable")
            self.assertEqual(tessera.read_matrix(self.path("p.h5"), "P").tobytes(), want.tobytes())

    def test_a_permutation_of_rows_larger_than_memory(self):
        n, rng = 20011, numpy.random.default_rng(tessera.SEED)
        columns = {"a": rng.normal(size=n), "name": rng.integers(0, 10**5, n).astype("S5"), "m": rng.normal(size=(n, 3))}
        order = rng.permutation(n)
        with h5py.File(self.path("t.h5"), "w") as file:
            for name, values in columns.items():
                file[f"table/{name}"] = values
            file["perm"], file["twice"], file["outside"] = order, numpy.append(order[1:], order[5]), numpy.append(order[1:], n)
        request = ("sort", "--in", "t.h5:/table", "--out", "o.h5:/table", "--memory", "64KiB", "--overwrite", "--apply")
        self.assertIn("in blocks", self.succeed(*request, "t.h5:/perm", "--plan").out)
        for ranks in (1, 3):
            self.succeed(*request, "t.h5:/perm", ranks=ranks, environment=PASSIVE)
            for name, values in columns.items():
                self.assertEqual(tessera.read_matrix(self.path("o.h5"), f"table/{name}").tobytes(), values[order].tobytes())
        for wrong in ("twice", "outside"):
            self.fail_with(tessera.BAD_DATA, *request, f"t.h5:/{wrong}", ranks=2, words=wrong)
        self.fail_with(tessera.MEMORY, *request[:5], "--memory", "32B", "--overwrite", "--apply", "t.h5:/perm", words="too few")

    def test_bytes_and_memory(self):
        self.succeed("sort", "--in", "in.h5:/K", "--out", "whole.h5:/K")
        for ranks in (1, 3):
            self.succeed(*self.request, "--overwrite", ranks=ranks, environment=PASSIVE)
            self.check(self.values)
        self.assertIn("out of core", self.succeed(*self.request, "--plan").out)
        self.fail_with(tessera.MEMORY, "sort", "--in", "in.h5:/K", "--out", "o.h5:/K", "--memory", "1KiB", words="too few")
        self.fail_with(tessera.MEMORY, *self.request[:5], "--memory", "64KiB", "--out-of-core", "never", "--overwrite")
        self.fail_with(tessera.USAGE, "sort", "--in", "in.h5:/K", "--out-of-core", "always", words="--out")
        self.fail_with(tessera.CANNOT_CREATE, *self.request[:7], "--scratch", "in.h5", "--overwrite", words="--scratch")


if __name__ == "__main__":
    tessera.main()
