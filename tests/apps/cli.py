"""The program's command line: help, options, sweeps, results, plans."""

import importlib
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import time
import unittest

import tessera
from tessera import CANNOT_CREATE, MEMORY, OK, h5py, numpy

QUICK = ("--repetitions", 2, "--warmups", 0)


class Launch(tessera.Case):
    def test_one_rank_needs_no_daemon(self):
        """Without a launcher the program starts no process of the MPI library: Open MPI's would
        take longer than a small run."""
        job, seen = tessera.Job(("matmul", "--n", 1000, *QUICK), folder=self.folder), set()
        while job.process.poll() is None:
            for path in pathlib.Path(f"/proc/{job.process.pid}/task").glob("*/children"):
                try:
                    seen |= {pathlib.Path(f"/proc/{child}/comm").read_text().strip()
                             for child in path.read_text().split()}
                except OSError:
                    pass  # it has ended
        self.assertEqual(job.wait().code, OK)
        self.assertFalse(seen & {"orted", "prted", "prte"}, seen)  # of Open MPI 4 and 5

    def test_one_rank_needs_no_session_folder(self):
        """Runs without a launcher would share one folder, and the first to end would remove it.
        Open MPI 5 makes one per process, and needs no usable TMPDIR for it."""
        for names in (tessera.LAUNCHER_FOLDERS, ("TMPDIR",)):
            self.succeed("matmul", "--n", 8, *QUICK,
                         environment=dict.fromkeys(names, "/dev/null"))


class Precedence(tessera.Case):
    def option(self, name, *words, environment=None):
        """Returns the value and source in the results."""
        self.succeed("matmul", "--n", 8, *words, "--results", "r.h5", "--again",
                     environment=environment)
        with h5py.File(self.path("r.h5")) as file:
            attributes = file[sorted(file)[-1]].attrs
            return attributes[f"option_{name}"], attributes["options_set"]

    def test_flag_before_environment_before_toml_before_default(self):
        with open(self.path("run.toml"), "w") as file:
            file.write("# a comment\nrepetitions = 4\nkernel = \"tiled\"\n")
        environment = {"TESSERA_REPETITIONS": "3"}
        config = ("--config", "run.toml")
        for words, env, value, source in (
                (("--repetitions", 2, *config), environment, "2", "repetitions (flag)"),
                (config, environment, "3", "repetitions (environment)"),
                (config, None, "4", "repetitions (run.toml:2:1)"),
                ((), None, "5", None)):
            got, sources = self.option("repetitions", *words, environment=env)
            self.assertEqual(got, value, sources)
            self.assertIn(source or "n (flag)", sources)
            if source is None:
                self.assertNotIn("repetitions", sources)
        with h5py.File(self.path("r.h5")) as file:
            rows = {run: len(file[run]["samples/seconds"]) for run in file}
        self.assertEqual(rows, {"matmul_0001": 2, "matmul_0002": 3, "matmul_0003": 4,
                                "matmul_0004": 5})

    def test_configuration_by_environment(self):
        with open(self.path("run.toml"), "w") as file:
            file.write("kernel = \"zigzag\"\n")
        value, _ = self.option("kernel", environment={"TESSERA_CONFIG": "run.toml"})
        self.assertEqual(value, "zigzag")

    def test_misspelt_variables_are_said(self):
        for name, meant in (("TESSERA_KERNELL", "TESSERA_KERNEL"),
                            ("TESSERA_COLUMNWIDTH", "TESSERA_COLUMN_WIDTH"), ("TESSERA_HOME", None),
                            ("TESSERA_BIN", None), ("TESSERA_STEPS", None), ("TESSERA_NCCL", None)):
            err = self.succeed("list", environment={name: "8"}, ranks=2 if meant else 0).err
            self.assertEqual(err.count(f"{name} is ignored; did you mean {meant}?"),
                             1 if meant else 0, err)
            self.assertEqual(err.count("is ignored"), 1 if meant else 0, err)

    def test_forms_of_values(self):
        with open(self.path("run.toml"), "w") as file:
            file.write("n = 16\nalpha = 0.5\nno-verify = true\nmemory = \"1GiB\"\nbeta = 0.0\nseed "
                       "= 3\n")
        self.assertIn("not checked", self.succeed("matmul", "--config", "run.toml", *QUICK).out)
        self.succeed("matmul", "--n=1e1", "--alpha=-2.5e-3", "--memory=64MiB", "--trans-a=T",
                     *QUICK)
        self.assertIn("passed", self.succeed("matmul", "--n", 4, "--n", 8, *QUICK).out)

    def test_a_later_flag_wins(self):
        value, _ = self.option("kernel", "--kernel", "naive", "--kernel", "column")
        self.assertEqual(value, "column")


class Sweeps(tessera.Case):
    def points(self, *words, **how):
        """Returns (kernel, m, n, k) of the points that the last run in the results measured, in
        order."""
        result = self.succeed("matmul", *words, *QUICK, "--results", "r.h5", **how)
        with h5py.File(self.path("r.h5")) as file:
            table = file[sorted(file)[-1]]["summary"]
            rows = list(zip(*(table[c][()] for c in ("kernel", "m", "n", "k"))))
        return [(kernel.decode(), int(m), int(n), int(k)) for kernel, m, n, k in rows], result

    def test_product_of_the_axes(self):
        rows, _ = self.points("--m", "8,16", "--k", "4:12:4", "--n", 5, "--kernel", "naive,tiled",
                              ranks=2)
        want = [(kernel, m, 5, k) for m in (8, 16) for k in (4, 8, 12)
                for kernel in ("naive", "tiled")]
        self.assertEqual(rows, want)

    def test_ranges(self):
        for text, want in (("16:128:x2", [16, 32, 64, 128]), ("16:100:x2", [16, 32, 64]),
                           ("3:5", [3, 4, 5]),
                           ("7:7", [7]), ("1,10:30:10,64:128:x2", [1, 10, 20, 30, 64, 128])):
            rows, _ = self.points("--n", text, "--again")
            self.assertEqual([row[2] for row in rows], want, text)

    def test_swept_numbers_are_columns(self):
        """Columns of options that only some kernels use are present, -1 for the other kernels;
        device kernels took no time here."""
        _, result = self.points("--n", 8, "--kernel", "column,tiled", "--column-width", "4,8",
                                "--tile", "2,4")
        with h5py.File(self.path("r.h5")) as file:
            table = file["matmul_0001/summary"]
            got = list(zip(table["tile"][()], table["column_width"][()]))
            self.assertEqual(list(table["kernels"][()]), [0] * 4)
        self.assertEqual(got, [(-1, 4), (-1, 8), (2, -1), (4, -1)])
        self.assertRegex(result.out, r"k +tile +column_width +ranks")

    def test_lists_in_toml(self):
        with open(self.path("run.toml"), "w") as file:
            file.write("n = [8, \"16:32:x2\"]\nkernel = [\"naive\", \"column\"]\n")
        rows, _ = self.points("--config", "run.toml")
        self.assertEqual(sorted(rows), sorted((k, n, n, n) for n in (8, 16, 32)
                                              for k in ("naive", "column")))

    def test_resume(self):
        """A second run skips existing points and adds others; --again measures all."""
        first, _ = self.points("--n", "8,16")
        before = tessera.digest(self.path("r.h5"))
        result = self.succeed("matmul", "--n", "8,16", *QUICK, "--results", "r.h5")
        self.assertIn("2 points already in r.h5: skipped", result.out)
        self.assertEqual(tessera.digest(self.path("r.h5")), before,
                         "nothing to add, nothing written")
        rows, result = self.points("--n", "8,16,32")
        self.assertEqual([row[2] for row in rows], [32])
        self.assertIn("2 points", result.out)
        rows, _ = self.points("--n", "8,16", "--again")
        self.assertEqual(len(rows), 2)
        rows, _ = self.points("--n", 8, ranks=2)
        self.assertEqual(len(rows), 1, "another number of ranks is another point")
        rows, _ = self.points("--n", 8, "--threads", 2)
        self.assertEqual(len(rows), 1, "another number of threads is another point")

    def test_a_point_without_its_output_is_not_skipped(self):
        """A measured point is skipped if its output exists; it is computed if the output is missing
        or is to be replaced."""
        for command in (("transpose", "--n", 9), ("matmul", "--n", 9), ("sort", "--n", 9),
                        ("stencil", "--shape", 9, "--steps", 1)):
            words = [*command, *QUICK, "--results", "r.h5", "--out"]
            for more, skips in (("1.h5:/C",), 0), (("1.h5:/C",), 1), (("2.h5:/C",), 0), \
                               (("2.h5:/C", "--overwrite"), 0), \
                               (("2.h5:/C", "--overwrite", "--resume", "auto"), 1):
                with self.subTest(command=command, more=more):
                    result = self.succeed(*words, *more, ranks=2 if command[0] == "matmul" else 0)
                    self.assertEqual("skipped" in result.out, bool(skips), str(result))
                    self.assertTrue(os.path.exists(self.path(more[0].partition(":")[0])))
            # the file exists, the dataset does not
            self.fail_with(CANNOT_CREATE, *words, "1.h5:/D", words="--overwrite")
            self.assertNotIn("skipped", self.succeed(*words, "1.h5:/D", "--overwrite", "--resume",
                                                     "auto").out)
            self.assertIn("skipped", self.succeed(*words, "1.h5:/D").out)
            os.unlink(self.path("1.h5"))
            os.unlink(self.path("2.h5"))

    def units_of(self, job):
        """Returns the processing units that the threads of a program without a launcher may use,
        once there is an output."""
        used = set()
        for task in os.listdir(f"/proc/{job.process.pid}/task") if os.listdir(self.folder) else ():
            try:
                used |= os.sched_getaffinity(int(task))
            except ProcessLookupError:
                continue  # it has just ended
        return used

    def test_threads_that_openmp_binds_have_all_the_units(self):
        """OpenMP binds the first thread before main: its mask is not the process's."""
        all_units = os.sched_getaffinity(0)
        for binding in ({"OMP_PROC_BIND": "true"},
                        {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}):
            for threads in {min(2, len(all_units)), len(all_units) + 1}:
                job = tessera.Job(["matmul", "--n", 1000, "--repetitions", 10**6, "--threads",
                                   threads, "--out", "c.h5:/C"],
                                  ranks=0, folder=self.folder, environment=binding)
                wanted, used = min(threads, len(all_units)), set()
                # the threads start with the first product
                while len(used) < wanted and job.process.poll() is None:
                    time.sleep(0.02)
                    used = self.units_of(job)
                self.assertGreaterEqual(len(used), wanted, (binding, threads))
                job.end()
                job.wait()
                for name in os.listdir(self.folder):
                    os.unlink(self.path(name))

    def test_a_killed_sweep_resumes(self):
        job = tessera.Job(["matmul", "--n", "8:2000:8", *QUICK, "--results", "r.h5"],
                          folder=self.folder)
        while not os.path.exists(self.path("r.h5")) and job.process.poll() is None:
            pass
        job.end()
        job.wait()
        with h5py.File(self.path("r.h5")) as file:
            done = len(file["matmul_0001/summary/n"])
        self.assertGreater(done, 0)
        rows, result = self.points("--n", f"8:{8 * (done + 2)}:8")
        self.assertEqual(len(rows), 2, str(result))

    def test_what_killed_runs_left_goes(self):
        """Partial files of ended processes of this host."""
        ended, unwaited = subprocess.Popen(["true"]), subprocess.Popen(["true"])
        ended.wait()
        while pathlib.Path(f"/proc/{unwaited.pid}/stat").read_text().split()[2] != "Z":
            time.sleep(0.01)
        self.addCleanup(unwaited.wait)
        stale = {f".{name}.partial-{socket.gethostname()}-{process.pid}-0badcafe"
                 for name in ("r.h5", "c.h5") for process in (ended, unwaited)}
        alive = f".r.h5.partial-{socket.gethostname()}-{os.getpid()}-0badcafe"
        for name in (*stale, alive):
            open(self.path(name), "w").close()
        self.succeed("matmul", "--n", 8, *QUICK, "--results", "r.h5", "--out", "c.h5:/C")
        self.assertEqual(sorted(os.listdir(self.folder)), [".r.h5.lock", alive, "c.h5", "r.h5"])


class Results(tessera.Case):
    def setUp(self):
        super().setUp()
        self.succeed("matmul", "--n", "16,32", "--kernel", "naive,tiled", "--repetitions", 3,
                     "--results", "r.h5",
                     ranks=2)
        self.file = self.path("r.h5")

    def test_the_command_line_is_one_for_a_shell(self):
        words = ["matmul", "--n", "8", "--title", "it's a; b c", "--results", "r.h5"]
        self.succeed(*words)
        with h5py.File(self.file) as file:
            self.assertEqual(shlex.split(file["matmul_0002"].attrs["command_line"]),
                             ["tessera", *words])

    def test_h5py_reads_them(self):
        with h5py.File(self.file) as file:
            self.assertEqual(list(file), ["matmul_0001"])
            self.assertEqual(file.attrs["tessera_schema"], 1)
            run = file["matmul_0001"]
            for name in ("command_line", "title", "workload", "compiler", "mpi_library",
                         "hdf5_version", "hosts",
                         "git_describe", "build_type", "instruction_set", "processor",
                         "tessera_version", "start_time",
                         "slurm_job_id", "options_set"):
                self.assertIsInstance(run.attrs[name], str, name)
            self.assertRegex(run.attrs["caches"], r"^(L1d \d+(, L2 \d+)?(, L3 \d+)?)?$")
            self.assertIn("tiled", run.attrs["users_tile"].removeprefix("kernel=").split(","))
            self.assertEqual(run.attrs["ranks"], 2)
            self.assertIn("--kernel naive,tiled", run.attrs["command_line"])
            for table, rows in (("samples", 12), ("summary", 4), ("ranks", 2)):
                self.assertEqual({len(column) for column in run[table].values()}, {rows}, table)
            self.assertEqual(run["samples/seconds"].attrs["units"], "s")
            self.assertEqual(run["samples/rate"].attrs["units"], "GFLOP/s")
            summary, samples = run["summary"], run["samples"]
            seconds = samples["seconds"][()].reshape(4, 3)
            numpy.testing.assert_array_equal(summary["median"][()], numpy.median(seconds, axis=1))
            numpy.testing.assert_array_equal(summary["min"][()], seconds.min(axis=1))
            n = summary["n"][()].astype(float)
            numpy.testing.assert_allclose(summary["rate"][()], 2e-9 * n**3 / summary["median"][()])
            self.assertTrue((summary["verified"][()] == 1).all())
            self.assertTrue((summary["verification_ratio"][()]
                             <= summary["verification_tolerance"][()]).all())
            phases = {name.decode() for name in run["phases/phase"][()]}
            self.assertLessEqual({"read", "compute", "exchange", "verify"}, phases)

    def test_pandas_reads_them(self):
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            self.skipTest("no pandas here")
        with h5py.File(self.file) as file:
            table = file["matmul_0001/samples"]
            frame = pandas.DataFrame({name: column.asstr()[()] if column.dtype == object
                                      else column[()]
                                      for name, column in table.items()})
        self.assertEqual(sorted(frame.groupby(["kernel", "n"]).size()), [3, 3, 3, 3])
        self.assertEqual(frame["type"].unique().tolist(), ["f64"])

    def test_xarray_reads_them(self):
        try:
            xarray = importlib.import_module("xarray")
            importlib.import_module("netCDF4")
        except ImportError as missing:
            self.skipTest(f"{missing} here")
        for table, rows in (("samples", 12), ("summary", 4), ("phases", None), ("ranks", 2)):
            with xarray.open_dataset(self.file, group=f"matmul_0001/{table}") as dataset:
                frame = dataset.to_dataframe()
            self.assertGreater(len(frame), 0)
            if rows:
                self.assertEqual(len(frame), rows)
        with xarray.open_dataset(self.file, group="matmul_0001/samples") as dataset:
            self.assertEqual(dataset["rate"].attrs["units"], "GFLOP/s")
            self.assertEqual(dataset["kernel"].values[0], "naive")

    def test_results_are_added_to_an_empty_file(self):
        with h5py.File(self.path("r.h5"), "w") as file:
            file.attrs["note"] = "made beforehand"
        self.succeed("matmul", "--n", 8, "--results", "r.h5")
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual((list(file), file.attrs["note"]), (["matmul_0001"], "made beforehand"))

    @unittest.skipUnless(shutil.which("ncdump"), "no ncdump here")
    def test_ncdump_reads_results_and_output(self):
        self.succeed("matmul", "--n", 16, "--out", "c.h5:/C", *QUICK)
        for name, word in (("r.h5", "group: samples"), ("c.h5", "double C(row, col)")):
            dumped = subprocess.run(["ncdump", "-h", self.path(name)], capture_output=True,
                                    text=True)
            self.assertEqual(dumped.returncode, 0, dumped.stderr)
            self.assertIn(word, dumped.stdout)

    def test_output_carries_its_provenance(self):
        self.succeed("matmul", "--n", 16, "--out", "c.h5:/deep/er/C", *QUICK, ranks=2)
        with h5py.File(self.path("c.h5")) as file:
            about = file["_tessera"].attrs
            self.assertEqual(about["state"], "complete")
            self.assertEqual(about["verified"], 1)
            self.assertEqual(about["verification_method"], "freivalds")
            self.assertIn("--n 16", about["command_line"])
            self.assertEqual(len(file["deep/er/C"].attrs["tessera_checksum"]), 16)
            self.assertEqual([d.keys()[0] for d in file["deep/er/C"].dims], ["row", "col"])


class Plans(tessera.Case):
    def test_plan_prints_and_writes_nothing(self):
        for ranks in (0, 3):
            result = self.succeed("matmul", "--n", 3000, "--plan", "--out", "c.h5:/C", "--results",
                                  "r.h5", ranks=ranks)
            for word in ("received", "messages", "home", "predicted", "GFLOP"):
                self.assertIn(word, result.out)
            self.assertEqual(os.listdir(self.folder), [])

    def test_plan_for_other_ranks_and_more_than_memory(self):
        out = self.succeed("matmul", "--n", 300000, "--ranks", 64, "--plan").out
        self.assertIn("on 64 ranks", out)
        self.assertIn("GiB", out)

    def test_memory_refusal_has_the_numbers(self):
        for ranks in (0, 2):
            result = self.fail_with(MEMORY, "matmul", "--n", 512, "--memory", "128KiB", "--out",
                                    "c.h5:/C", ranks=ranks,
                                    words=("128 KiB", "--memory"))
            self.assertEqual(os.listdir(self.folder), [], str(result))
        self.assertIn("use 4 ranks", self.fail_with(MEMORY, "matmul", "--n", 512, "--memory",
                                                        "4MiB").errors[0])


if __name__ == "__main__":
    tessera.main()
