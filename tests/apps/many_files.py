"""--in with wildcards: one command for many files, each with its output."""

import json
import os
import shutil

import tessera
from tessera import BAD_DATA, MISSING, USAGE, h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)


class ManyFiles(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        os.mkdir(self.path("runs"))
        self.data = {f"run{number}": rng.normal(size=shape) for number, shape in
                     enumerate(((7, 5), (1, 9), (40, 33), (6, 6)))}
        for name, values in self.data.items():
            with h5py.File(self.path("runs", name + ".h5"), "w") as file:
                file["u"] = values
                file["keys"] = values.ravel()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, name, dataset):
        with h5py.File(self.path(name)) as file:
            return file[dataset][()]

    def assert_outputs(self, name, dataset, expected):
        for run, values in self.data.items():
            numpy.testing.assert_array_equal(self.read(name.replace("{name}", run), dataset),
                                             expected(values), run)

    def test_each_has_its_output(self):
        for ranks in (0, 1, 4):
            with self.subTest(ranks=ranks):
                result = self.succeed("transpose", "--in", "runs/*.h5:/u", "--out",
                                      "{name}_t.h5:/t", "--overwrite", ranks=ranks)
                self.assert_outputs("{name}_t.h5", "t", numpy.transpose)
                for run in self.data:
                    self.assertRegex(result.out, rf"(?m)^.* runs/{run}\.h5:/u ")

    def test_parts_of_datasets_and_other_workloads(self):
        self.succeed("sort", "--in", "runs/run?.h5:/keys", "--out", "s_{name}.h5:/keys")
        self.assert_outputs("s_{name}.h5", "keys", lambda values: numpy.sort(values.ravel()))
        self.succeed("transpose", "--in", "runs/*.h5:/u[:1]", "--out", "p_{name}.h5:/t")
        self.assert_outputs("p_{name}.h5", "t", lambda values: values[:1].T)
        steps = ("--steps", 3, "--boundary", "periodic")
        self.succeed("stencil", "--in", "runs/*.h5:/u", *steps, "--out", "f_{name}.h5:/u")
        for run in self.data:
            self.succeed("stencil", "--in", f"runs/{run}.h5:/u", *steps, "--out", f"{run}.h5:/u")
            numpy.testing.assert_array_equal(self.read(f"f_{run}.h5", "u"),
                                             self.read(f"{run}.h5", "u"), run)

    def test_results_have_a_point_for_each_and_only_new_files_run(self):
        words = ("transpose", "--in", "runs/*.h5:/u", "--results", "r.h5", *QUICK)
        self.succeed(*words)
        with h5py.File(self.path("r.h5")) as file:
            columns = file["transpose_0001/summary"]
            self.assertEqual([name.decode() for name in columns["in"][()]],
                             [f"runs/{run}.h5:/u" for run in self.data])
            self.assertEqual([shape.decode() for shape in columns["shape"][()]],
                             ["x".join(map(str, values.shape)) for values in self.data.values()])
        with h5py.File(self.path("runs", "later.h5"), "w") as file:
            file["u"] = numpy.ones((3, 2))
        answer = json.loads(self.succeed(*words, "--json").out)
        self.assertEqual((answer["skipped"], len(answer["points"])), (4, 1), answer)

    def test_plan_and_part(self):
        out = self.succeed("transpose", "--in", "runs/*.h5:/u", "--out", "{name}_t.h5:/t",
                           "--plan").out
        self.assertIn("40 x 33", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["runs"])
        self.succeed("transpose", "--in", "runs/*.h5:/u", "--out", "{name}_t.h5:/t",
                     "--part", "2/2")
        self.assertEqual(sorted(os.listdir(self.folder)), ["run1_t.h5", "run3_t.h5", "runs"])

    def test_after_an_error_the_same_command_goes_on(self):
        whole = self.path("runs", "run2.h5")
        with open(whole, "rb") as file:
            content = file.read()
        for ranks in (0, 3):
            with self.subTest(ranks=ranks):
                with open(whole, "wb") as file:
                    file.write(content[:600])
                words = ("transpose", "--in", "runs/*.h5:/u", "--out", f"{ranks}_{{name}}.h5:/t",
                         "--results", f"r{ranks}.h5", *QUICK)
                self.fail_with(BAD_DATA, *words, words="run2.h5", ranks=ranks)
                there = [os.path.exists(self.path(f"{ranks}_{run}.h5")) for run in self.data]
                self.assertEqual(there, [True, True, False, False])
                with open(whole, "wb") as file:
                    file.write(content)
                self.assertIn("2 points already in", self.succeed(*words, ranks=ranks).out)
                self.assert_outputs(f"{ranks}_{{name}}.h5", "t", numpy.transpose)

    def test_refusals(self):
        self.fail_with(USAGE, "transpose", "--in", "runs/*.h5:/u", "--out", "t.h5:/t",
                       words=("--out 't.h5:/t'", "runs/run0.h5:/u", "{name}"))
        self.fail_with(MISSING, "transpose", "--in", "runs/*.hdf:/u", words="'runs/*.hdf'")
        os.mkdir(self.path("more"))
        with h5py.File(self.path("more", "run0.h5"), "w") as file:
            file["u"] = numpy.ones((3, 2))
        self.fail_with(USAGE, "transpose", "--in", "*/run0.h5:/u", "--out", "{name}_t.h5:/t",
                       words=("more/run0.h5:/u", "runs/run0.h5:/u"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["more", "runs"])

    def test_without_the_shared_examining_process_each_is_examined_alone(self):
        real = os.path.join(os.path.dirname(tessera.PROGRAM), "tessera-examine")
        program = shutil.copy(tessera.PROGRAM, self.folder)
        with open(self.path("tessera-examine"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n[ "$1" != serve ] || kill -SEGV $$\nexec "{real}" "$@"\n')
        os.chmod(self.path("tessera-examine"), 0o755)
        self.succeed("transpose", "--in", "runs/*.h5:/u", "--out", "{name}_t.h5:/t",
                     program=program)
        self.assert_outputs("{name}_t.h5", "t", numpy.transpose)

    def test_a_line_feed_in_a_name(self):
        os.rename(self.path("runs", "run1.h5"), self.path("runs", "run\n1.h5"))
        self.succeed("transpose", "--in", "runs/*.h5:/u", "--out", "{name}_t.h5:/t")
        numpy.testing.assert_array_equal(self.read("run\n1_t.h5", "t"), self.data["run1"].T)

    def test_a_file_with_a_star_in_its_name_is_that_file(self):
        os.rename(self.path("runs", "run0.h5"), self.path("runs", "run*.h5"))
        self.succeed("transpose", "--in", "runs/run*.h5:/u", "--out", "t.h5:/t")
        numpy.testing.assert_array_equal(self.read("t.h5", "t"), self.data["run0"].T)


if __name__ == "__main__":
    tessera.main()
