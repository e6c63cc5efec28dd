"""--json prints one object of the documented schema, --quiet nothing, on every sub-command."""

import json
import os
import signal
import sys

import machine_file
import tessera
from tessera import BAD_DATA, MISSING, OK, USAGE, VERIFICATION, h5py, numpy

try:
    import jsonschema
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); apt-get install python3-jsonschema")
    sys.exit(tessera.SKIPPED)

with open(os.path.join(tessera.ROOT, "apps/manual/answer.schema.json")) as file:
    SCHEMA = json.load(file)
jsonschema.Draft7Validator.check_schema(SCHEMA)

# Arguments of a run of each sub-command; in.h5 and r.h5 are there.
RUNS = {
    "matmul": ("--a", "in.h5:/A", "--b", "in.h5:/A", "--out", "c.h5:/C"),
    "transpose": ("--in", "in.h5:/A", "--out", "t.h5:/T"),
    "stencil": ("--in", "in.h5:/A", "--steps", 3, "--out", "u.h5:/u"),
    "sort": ("--in", "in.h5:/k", "--out", "s.h5:/k"),
    "locality": ("matmul", "--n", 8, "--kernel", "naive"),
    "scalability": ("matmul", "--n", 16),
    "forkjoin": ("--kernel", "fib", "--n", 6),
    "memory": ("--probe", "capacity", "--size", "64KiB"),
    "info": ("in.h5",),
    "list": (),
    "machine": ("--show",),
    "verify": ("c0.h5",),
    "study": ("apod/divergence_quiz",),
    "report": ("r.h5", "--text"),
    "compare": ("r.h5", "r.h5"),
    "rerun": ("r.h5", "--dry-run"),
    "export": ("r.h5",),
    "doctor": (),
    "analyse": ("--top", 3, "sort", "--n", 1_000_000),
    "slurm": ("matmul", "--n", 64, "--time", 10),
    "help": ("sort",),
}
TEXT = {"export": ("--csv",)}  # in the place of --json


class Answer(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(1)
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"], file["k"] = rng.random((40, 40)), rng.integers(0, 99, 300)
        self.succeed("matmul", "--n", 16, "--results", "r.h5")
        self.succeed("matmul", "--n", 16, "--out", "c0.h5:/C")

    def answer_of(self, result):
        """Returns the one object of a run, which obeys the schema."""
        answer = json.loads(result.out)
        jsonschema.validate(answer, SCHEMA)
        self.assertEqual(answer["exit_code"], result.code, str(result))
        return answer

    def answer(self, *words, **how):
        return self.answer_of(self.run_tessera(*words, "--json", **how))

    def test_every_command(self):
        with open(os.path.join(tessera.ROOT, "apps/commands/command.hpp")) as file:
            table = file.read().split("#define TESSERA_COMMANDS")[1].split("// clang-format on")[0]
        names = [part.split(",")[0] for part in table.split("COMMAND(")[1:]]
        self.assertEqual(sorted(RUNS), sorted(names))
        for name, words in RUNS.items():
            with self.subTest(command=name):
                text = self.run_tessera(name, *words, *TEXT.get(name, ()))
                answer = self.answer(name, *words, *(("--overwrite",) if "--out" in words else ()))
                self.assertEqual(answer["command"], name)
                self.assertEqual(answer["exit_code"], text.code)
                self.assertNotEqual(answer["lines"], [])

    def test_version(self):
        facts = self.answer("--version")["facts"]
        self.assertIn(facts["instruction_set"], facts["instruction_sets"])
        self.assertEqual(facts["blas_missing"] is None, tessera.has_openblas())

    def test_quiet(self):
        for name, words in RUNS.items():
            with self.subTest(command=name):
                result = self.run_tessera(name, *words, *TEXT.get(name, ()), "--quiet")
                if name != "doctor":  # prints what is wrong
                    self.assertEqual(result.out, "", str(result))
                    self.assertEqual(result.err, "", str(result))
                    self.assertIn(result.code, (OK, 2) if name == "compare" else (OK,))

    def test_a_point(self):
        for ranks in (0, 2):
            answer = self.answer("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A[:,:30]", "--out",
                                 "c.h5:/C", "--overwrite", ranks=ranks)
            point, = answer["points"]
            self.assertEqual([point["settings"][name] for name in "mnk"], [40, 30, 40])
            self.assertEqual((point["ranks"], point["repetitions"]), (max(1, ranks), 1))
            self.assertEqual(point["work"], {"amount": 2 * 40 * 30 * 40, "unit": "FLOP"})
            self.assertAlmostEqual(point["rate"]["value"] * point["median"] * 1e9, 96000, delta=1)
            self.assertTrue(point["check"]["passed"])
            self.assertIn("write", [phase["phase"] for phase in point["phases"]])
            self.assertEqual(answer["outputs"], [{"file": "c.h5", "path": "/C", "shape": [40, 30],
                                                  "type": "f64", "bytes": 9600,
                                                  "stored_bytes": 9600, "added": False}])
            self.assertGreater(answer["memory"]["peak"], 1 << 20)
            self.assertEqual(answer["options"]["out"], {"value": "c.h5:/C", "source": "flag"})
            self.assertEqual(answer["options"]["threads"]["value"], 0)
            self.assertNotIn("json", answer["options"])

    def test_a_plan(self):
        rates = ("fma_f64", "copy", "touch", "generate", "hash", "file_write")
        measured = machine_file.write(self.path("m.toml"), dict.fromkeys(rates, 1))
        for ranks in (0, 2):
            answer = self.answer("matmul", "--n", "1000,2000", "--threads", 1, "--plan",
                                 ranks=ranks, environment=measured)
            small, large = answer["plans"]
            self.assertFalse(small["out_of_core"])
            self.assertAlmostEqual(large["seconds"], sum(large["phases"].values()))
            self.assertGreater(large["phases"]["repetitions"], small["phases"]["repetitions"])
            self.assertGreaterEqual(large["memory"] * max(1, ranks), 3 * 8 * 2000**2)
        plan, = self.answer("matmul", "--n", 1000, "--plan",
                            environment={"TESSERA_MACHINE_FILE": self.path("none.toml")})["plans"]
        self.assertIsNone(plan["seconds"])
        self.assertEqual(plan["phases"], {})

    def test_with_more_threads_than_cores(self):
        """The program then starts itself anew, so that threads wait passively."""
        crowded = {"environment": {"OMP_NUM_THREADS": str(os.cpu_count() + 1)}}
        self.assertEqual(len(self.answer("sort", "--n", 50, **crowded)["points"]), 1)
        self.assertEqual(self.run_tessera("sort", "--n", 50, "--quiet", **crowded).out, "")

    def test_a_sweep_with_results(self):
        answer = self.answer("sort", "--n", "100,200", "--repetitions", 7, "--results", "s.h5")
        self.assertEqual([point["settings"]["n"] for point in answer["points"]], [100, 200])
        for point in answer["points"]:
            self.assertEqual(len(point["seconds"]), 7)
            low, high = point["interval"]
            self.assertTrue(low <= point["median"] <= high)
        self.assertEqual(answer["results"], {"file": "s.h5", "run": "sort_0001"})
        again = self.answer("sort", "--n", "100,200", "--repetitions", 7, "--results", "s.h5")
        self.assertEqual((again["skipped"], again.get("points", [])), (2, []))

    def test_failures(self):
        """The object has the message and the exit code, which stay on stderr too."""
        for words, code in ((("matmul", "--sie", 3), USAGE), (("mat",), USAGE),
                            (("transpose", "--in", "none.h5:/A"), MISSING),
                            (("sort", "--in", "text:/A"), BAD_DATA)):
            with open(self.path("text"), "w") as file:
                file.write("no HDF5" * 100)
            for ranks in (0, 2):
                with self.subTest(words=words, ranks=ranks):
                    result = self.run_tessera(*words, "--json", ranks=ranks)
                    answer = self.answer_of(result)
                    self.assertEqual(result.code, code, str(result))
                    self.assertIn(answer["error"], result.err)
                    quiet = self.run_tessera(*words, "--quiet", ranks=ranks)
                    self.assertEqual((quiet.code, len(quiet.errors)), (code, 1), str(quiet))
        with h5py.File(self.path("c0.h5"), "r+") as file:
            file["C"][0, 0] += 1
        self.assertFalse(self.answer("verify", "c0.h5")["datasets"][0]["matches"])
        self.assertEqual(self.run_tessera("verify", "c0.h5", "--quiet").code, VERIFICATION)

    def test_notes_are_members(self):
        answer = self.answer("matmul", "--n", 16, "--kernel", "naive", "--tile", 8)
        self.assertEqual(len(answer["notes"]), 1)
        self.assertIn("--tile has no effect", answer["notes"][0])

    def test_by_environment_and_file(self):
        with open(self.path("o.toml"), "w") as file:
            file.write("n = 16\njson = true\n")
        self.answer_of(self.run_tessera("matmul", "--config", "o.toml"))
        self.answer_of(self.run_tessera("list", environment={"TESSERA_JSON": "true"}))
        quiet = self.run_tessera("list", environment={"TESSERA_QUIET": "true"})
        self.assertEqual((quiet.code, quiet.out), (OK, ""))

    def test_an_exported_document_is_printed_itself(self):
        document = json.loads(self.succeed("export", "r.h5", "--json", "--out", "-").out)
        self.assertIn("runs", document)

    def test_compressed_outputs(self):
        with h5py.File(self.path("zeros.h5"), "w") as file:
            file["A"] = numpy.zeros((500, 400))
        words = ("transpose", "--in", "zeros.h5:/A", "--compress", "gzip", "--out")
        output, = self.answer(*words, "z.h5:/T")["outputs"]
        with h5py.File(self.path("z.h5")) as file:
            self.assertEqual(output["stored_bytes"], file["T"].id.get_storage_size())
        self.assertEqual(output["bytes"], 1600000)
        self.assertLess(output["stored_bytes"], 160000)
        self.assertRegex(self.succeed(*words, "y.h5:/T").out,
                         r"written: y.h5:/T, \S+ KiB compressed from 1.53 MiB \(\d+\.\d to 1\)")

    def test_tables(self):
        traced = self.answer(*("locality", *RUNS["locality"]))["tables"]
        curves, = (table for table in traced if table["table"] == "curves")
        self.assertTrue(all(row["misses"] > 0 for row in curves["rows"]), curves)
        self.assertNotEqual(self.answer("scalability", *RUNS["scalability"])["tables"], [])
        for words in (("report", "r.h5", "--text"), ("report", "r.h5", "--html", "p.html")):
            answer = self.answer(*words)
            points, = (table for table in answer["tables"] if "all points" in table["table"])
            self.assertEqual(points["units"]["median"], "s")
            self.assertIsInstance(points["rows"][0]["median"], float)

    def test_a_comparison(self):
        self.succeed("matmul", "--n", 16, "--repetitions", 7, "--results", "q.h5")
        answer = self.answer("compare", "q.h5", "q.h5")
        point, = answer["comparison"]["points"]
        self.assertEqual(point["before"], point["after"])
        low, high = point["interval"]
        self.assertTrue(low <= point["ratio"] == 1 <= high)
        self.assertEqual(answer["comparison"]["verdicts"][point["verdict"]], 1)
        self.assertEqual(answer["exit_code"], {"SAME": 0, "AMBIGUOUS": 2}[point["verdict"]])
        again = self.answer("rerun", "q.h5")
        self.assertEqual(again["rerun"]["run"], "matmul_0001")
        self.assertEqual(len(again["comparison"]["points"]), 1)
        self.assertEqual(self.answer("compare", "q.h5", "r.h5")["comparison"]["points"][0]["point"],
                         point["point"])

    def test_written_files(self):
        files = self.answer("report", "r.h5", "--html", "p.html")["files"]
        self.assertEqual(files[0], "p.html")
        for name in files:
            self.assertTrue(os.path.exists(self.path(name)), name)
        self.assertEqual(self.answer("slurm", *RUNS["slurm"], "--script", "j.sbatch")["files"],
                         ["j.sbatch"])

    def test_a_signal(self):
        """A run that a signal ends prints its object, too."""
        for number in (signal.SIGINT, signal.SIGTERM):
            job = tessera.Job(("stencil", "--shape", "64x64", "--steps", 10**9, "--json"),
                              folder=self.folder)
            output = f"/proc/{job.process.pid}/fd/1"
            result = job.stop(lambda: "memfd:tessera-output" in os.readlink(output), number)
            answer = json.loads(result.out)
            jsonschema.validate(answer, SCHEMA)
            self.assertEqual((answer["exit_code"], result.code), (128 + number, -number))
            self.assertEqual(answer["command"], "stencil")
            self.assertIn(answer["error"], result.err)

    def test_names_that_are_no_text(self):
        name = b"in\xff\"\\\n.h5"
        os.rename(self.path("in.h5"), os.path.join(self.folder.encode(), name))
        words = os.fsdecode(name) + ":/A"
        self.assertEqual(self.answer("transpose", "--in", words)["exit_code"], OK)


if __name__ == "__main__":
    tessera.main()
