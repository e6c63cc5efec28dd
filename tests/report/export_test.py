"""export_test.py SCRIPTS TESSERA SCRATCH: exports read back by the csv module, pandas and json."""
import csv
import json
import math
import os
import resource
import unittest

import made
from made import row, write

import export

try:
    from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file as read_extra_p
except ImportError:
    read_extra_p = None


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Export(made.Case):
    def results(self, name="e.h5"):
        path = write(self.path(name), [row(k, n, 2, seconds=[0.1 * n, 0.2 * n, 0.3 * n / 7])
                                       for k in ("naive", "a,b\"c") for n in (4, 8)])
        write(path, [row("naive", 4, 3)], run="sort_0001")
        return path

    def test_csv_has_every_sample_to_the_last_digit(self):
        path = self.results()
        words = self.run_script(export, "--csv", path)
        base = os.path.splitext(path)[0]
        self.assertEqual(words.splitlines(), [f"wrote {base}_samples.csv",
                                              f"wrote {base}_summary.csv"])
        rows = read_csv(base + "_samples.csv")
        self.assertEqual(len(rows), 4 * 3 + 3)
        self.assertEqual({r["kernel"] for r in rows}, {"naive", "a,b\"c"})
        self.assertEqual([float(r["seconds"]) for r in rows[:3]], [0.1 * 4, 0.2 * 4, 0.3 * 4 / 7])
        self.assertEqual((rows[0]["file"], rows[0]["run"], rows[-1]["run"]),
                         ("e.h5", "matmul_0001", "sort_0001"))
        for r in rows:
            self.assertEqual(r["rate_units"], "GFLOP/s")
        self.assertNotIn("seconds_units", rows[0])
        summary = read_csv(base + "_summary.csv")
        self.assertEqual(len(summary), 5)
        self.assertEqual(list(summary[0])[list(summary[0]).index("rate") + 1], "rate_units")
        self.assertEqual(summary[0]["ceiling_share"], "")  # not a number

    def test_pandas_reads_the_csv(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        path = self.results("p.h5")
        self.run_script(export, "--csv", path)
        table = pandas.read_csv(os.path.splitext(path)[0] + "_samples.csv")
        medians = table[table.run == "matmul_0001"].groupby(["kernel", "n"]).seconds.median()
        self.assertAlmostEqual(medians["naive", 8], 0.8)
        self.assertEqual(str(table.repetition.dtype), "int64")

    def test_tables_are_chosen_by_name(self):
        path = self.results("t.h5")
        self.run_script(export, "--csv", "--tables", "machine", path)
        rows = read_csv(os.path.splitext(path)[0] + "_machine.csv")
        self.assertEqual((rows[0]["name"], float(rows[0]["value"]), rows[0]["units"]),
                         ("fma_f64", 100.0, "GFLOP/s"))
        self.run_script(export, "--csv", "--tables", "all", path, "--out",
                        os.path.join(made.SCRATCH, "every"))
        self.assertTrue(os.path.exists(os.path.join(made.SCRATCH, "every_phases.csv")))

    def test_what_cannot_be_exported_is_told(self):
        path = self.results("w.h5")
        self.assert_refused(self.run_script(export, "--extra-p", "--tables", "machine", path,
                                            code=64), "--tables")
        bare = self.path("bare.h5")
        with made.h5py.File(bare, "w") as file:
            made.put(file.create_group("locality_0001"), "points", {"point": ["k"]})
        self.assert_refused(self.run_script(export, "--csv", bare, code=65), "samples or summary",
                            "--tables all")

    def test_json_is_valid_and_keeps_provenance_and_units(self):
        path = self.results("j.h5")
        self.run_script(export, "--json", path)
        with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
            text = file.read()
        found = json.loads(text, parse_constant=lambda word: self.fail(f"{word} is no JSON"))
        self.assertEqual([run["run"] for run in found["runs"]], ["matmul_0001", "sort_0001"])
        first = found["runs"][0]
        self.assertEqual((first["attributes"]["processor"], first["attributes"]["ranks"]),
                         ("made up", 2))
        self.assertEqual(first["tables"]["samples"]["units"]["seconds"], "s")
        self.assertEqual(first["tables"]["samples"]["rows"][2]["seconds"], 0.3 * 4 / 7)
        self.assertIsNone(first["tables"]["summary"]["rows"][0]["ceiling_share"])

    def test_a_run_is_chosen_by_name_and_the_terminal_by_a_dash(self):
        path = self.results("r.h5")
        found = json.loads(self.run_script(export, "--json", "--out", "-", f"{path}#sort_0001"))
        self.assertEqual([run["run"] for run in found["runs"]], ["sort_0001"])
        self.assert_refused(self.run_script(export, "--json", f"{path}#no", code=66))

    def test_extra_p_lines_hold_parameters_call_path_and_value(self):
        path = write(self.path("x.h5"), [row(k, n, r, seconds=[float(n * r), float(n * r + 1)])
                                         for k in ("naive", "tiled") for n in (4, 8, 16, 32, 64)
                                         for r in (1, 2)])
        lines = self.extra_p_of(path, "")[""]
        self.assertEqual({frozenset(line["params"]) for line in lines},
                         {frozenset(("p", "t", "n"))})  # m and k equal n
        self.assertTrue(all(line["metric"] == "time" for line in lines))
        whole = [line for line in lines if line["callpath"] == "matmul->kernel=tiled"]
        self.assertEqual(len(whole), 5 * 2 * 2)
        self.assertEqual([line["value"] for line in whole if line["params"]["n"] == 8
                          and line["params"]["p"] == 2], [16.0, 17.0])
        # The mean over ranks: 0.7 of the median 16.5, a second rank 10 % longer; then 0.6.
        phase = [line["value"] for line in lines if line["callpath"]
                 == "matmul->kernel=tiled->compute"
                 and line["params"]["n"] == 8 and line["params"]["p"] == 2]
        self.assertTrue(all(math.isclose(a, b) for a,
                            b in zip(phase, (16.5 * 0.7 * 1.05, 16.5 * 0.6 * 1.05))))
        self.assertFalse([line for line in lines if "verify" in line["callpath"]])

    def extra_p_of(self, path, *files):
        """Returns {file: its lines}. Checks that Extra-P can import every file: the same parameters
        everywhere, and every call path at every place. Runs Extra-P if it is installed."""
        words, base, found = self.run_script(export, "--extra-p",
                                             path), os.path.splitext(path)[0], {}
        self.assertEqual(words.splitlines(), [f"wrote {base}{name}.jsonl" for name in files])
        for name in files:
            with open(f"{base}{name}.jsonl", encoding="utf-8") as file:
                lines = found[name] = [json.loads(line) for line in file]
            self.assertEqual(len({tuple(line["params"]) for line in lines}), 1)
            places = {}
            for line in lines:
                places.setdefault((line["callpath"], line["metric"]),
                                  set()).add(tuple(line["params"].values()))
                self.assertTrue(math.isfinite(line["value"]))
            self.assertEqual(len({frozenset(p) for p in places.values()}), 1, places)
            if read_extra_p is not None:
                self.assertEqual(len(read_extra_p(f"{base}{name}.jsonl").callpaths), len(places))
        return found

    def test_two_tiles_are_two_call_paths_and_five_a_parameter(self):
        """Extra-P would model a law through two tiles."""
        def swept(name, tiles, run="matmul_0001"):
            return write(self.path(name), [row("tiled", n, 1, options={"tile": t})
                                           for n in (4, 8, 16, 32, 64) for t in tiles], run=run)
        path = swept("tiles.h5", (8, 16))
        lines = self.extra_p_of(path, "")[""]
        self.assertEqual({tuple(line["params"]) for line in lines}, {("p", "t", "n")})
        whole = {line["callpath"] for line in lines if line["callpath"].count("->") == 1}
        self.assertEqual(whole, {"matmul->tile=8", "matmul->tile=16"})
        for tile in (8, 16):  # the samples of one tile alone
            self.assertEqual(sum(line["callpath"] == f"matmul->tile={tile}" for line in lines),
                             5 * 3)
        lines = self.extra_p_of(swept("five.h5", (8, 16, 32, 64, 128)), "")[""]
        self.assertEqual({tuple(line["params"]) for line in lines}, {("p", "t", "n", "tile")})
        self.assertEqual({line["callpath"] for line in lines},
                         {"matmul", "matmul->compute", "matmul->exchange"})

    def test_sizes_that_differ_are_parameters_each(self):
        path = write(self.path("sizes.h5"), [row("naive", n, 1, options={"k": k})
                                             for n in (4, 8, 16) for k in (2, 4)])
        with made.h5py.File(path, "a") as file:
            file["matmul_0001/summary/k"][:] = [2, 4] * 3
        lines = self.extra_p_of(path, "")[""]
        self.assertEqual({tuple(line["params"]) for line in lines}, {("p", "t", "n", "k")})

    @unittest.skipIf(read_extra_p is None, "no extrap here (pip install extrap)")
    def test_extra_p_finds_the_law_of_the_products(self):
        from extrap.modelers.model_generator import ModelGenerator
        path = write(self.path("law.h5"), [row("naive", n, 1, seconds=[1e-9 * n ** 3] * 3)
                                           for n in (64, 128, 256, 512, 1024)])
        self.extra_p_of(path, "")
        experiment = read_extra_p(os.path.splitext(path)[0] + ".jsonl")
        models = ModelGenerator(experiment)
        models.model_all()
        found = {str(where[0]): model.hypothesis.function.to_string(*experiment.parameters)
                 for where, model in models.models.items()}
        self.assertIn("n^(3)", found["matmul"])

    def test_a_phase_that_some_points_have_not_took_them_no_time(self):
        path = write(self.path("one.h5"), [row("naive", n, 1) for n in (4, 8, 16)],
                     phases=((0, "compute", 0.7),))
        write(path, [row("naive", n, 2) for n in (4, 8, 16)], run="matmul_0002")
        lines = self.extra_p_of(path, "")[""]
        exchange = {(line["params"]["n"], line["params"]["p"]): line["value"] for line in lines
                    if line["callpath"] == "matmul->exchange"}
        self.assertEqual(len(exchange), 6)
        self.assertEqual({value for (_, p), value in exchange.items() if p == 1}, {0.0})
        self.assertTrue(all(value > 0 for (_, p), value in exchange.items() if p == 2))

    def test_call_paths_that_were_measured_at_other_points_go_to_files_of_their_own(self):
        path = write(self.path("two.h5"), [row(k, n, 2) for k in ("naive", "tiled")
                                           for n in (4, 8, 16)] +
                     [row("blocked", n, 2) for n in (4, 8, 16, 32)])
        # a separate sweep
        write(path, [row("tiled", 64, r) for r in (1, 2, 4)], run="matmul_0002")
        found = self.extra_p_of(path, "_1", "_2", "_3")
        self.assertEqual([{line["callpath"].split("->")[1] for line in lines}
                          for lines in found.values()],
                         [{"kernel=naive"}, {"kernel=tiled"}, {"kernel=blocked"}])
        self.assertEqual(sum(line["callpath"] == "matmul->kernel=tiled" for line in found["_2"]),
                         6 * 3)
        self.assert_refused(self.run_script(export, "--extra-p", "--out", "-", path, code=64),
                            "3 files", "--out")

    def test_without_extra_p_its_own_reader_is_not_asked(self):
        if read_extra_p is None:
            self.skipTest("no extrap here (pip install extrap): only what its format asks for is "
                          "looked at")

    def test_a_file_that_does_not_fit_is_as_it_was(self):
        path = self.results("full.h5")
        csv_of = os.path.splitext(path)[0] + "_samples.csv"
        if os.path.exists(csv_of):  # of an earlier run of the test
            os.remove(csv_of)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        for kept in ("", "of an earlier export"):
            if kept:
                with open(csv_of, "w", encoding="utf-8") as file:
                    file.write(kept)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
            self.assert_refused(self.run_script(export, "--csv", path, code=73), csv_of)
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual([name for name in os.listdir(made.SCRATCH)
                              if name.startswith("full_")], ["full_samples.csv"] if kept else [])
        with open(csv_of, encoding="utf-8") as file:
            self.assertEqual(file.read(), kept)

    def test_workloads_go_to_files_of_their_own_for_extra_p(self):
        path = self.results("w.h5")
        words = self.run_script(export, "--extra-p", path)
        base = os.path.splitext(path)[0]
        self.assertEqual(words.splitlines(), [f"wrote {base}_matmul.jsonl",
                                              f"wrote {base}_sort.jsonl"])

    def test_wrong_requests_are_refused_in_one_line(self):
        path = self.results("wrong.h5")
        self.assert_refused(self.run_script(export, path, code=64), "--csv")
        self.assert_refused(self.run_script(export, "--csv", "--json", path, code=64))
        self.assert_refused(self.run_script(export, "--csv", path, "--tables", "summary,sumary",
                                            code=64), "'sumary'")
        self.assert_refused(self.run_script(export, "--csv", self.path("none.h5"), code=66))
        with open(self.path("words.h5"), "w", encoding="utf-8") as file:
            file.write("words")
        self.assert_refused(self.run_script(export, "--csv", os.path.join(made.SCRATCH, "words.h5"),
                                            code=65))
        self.assert_refused(self.run_script(export, "--json", path, "--out",
                                            os.path.join(made.SCRATCH, "no", "x"), code=73),
                            "--out")


if __name__ == "__main__":
    made.main()
