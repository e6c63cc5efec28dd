"""export_test.py SCRIPTS TESSERA SCRATCH: exports read back by the csv module, pandas and json."""
import csv
import json
import math
import os
import resource

import made
from made import row, write

import export


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Export(made.Case):
    def results(self, name="e.h5"):
        path = write(self.path(name), [row(k, n, 2, seconds=[0.1 * n, 0.2 * n, 0.3 * n / 7]) for k in ("naive", "a,b\"c") for n in (4, 8)])
        write(path, [row("naive", 4, 3)], run="sort_0001")
        return path

    def test_csv_has_every_sample_to_the_last_digit(self):
        path = self.results()
        words = self.run_script(export, "--csv", path)
        base = os.path.splitext(path)[0]
        self.assertEqual(words.splitlines(), [f"wrote {base}_samples.csv", f"wrote {base}_summary.csv"])
        rows = read_csv(base + "_samples.csv")
        self.assertEqual(len(rows), 4 * 3 + 3)
        self.assertEqual({r["kernel"] for r in rows}, {"naive", "a,b\"c"})
        self.assertEqual([float(r["seconds"]) for r in rows[:3]], [0.1 * 4, 0.2 * 4, 0.3 * 4 / 7])
        self.assertEqual((rows[0]["file"], rows[0]["run"], rows[-1]["run"]), ("e.h5", "matmul_0001", "sort_0001"))
        summary = read_csv(base + "_summary.csv")
        self.assertEqual(len(summary), 5)
        self.assertEqual(summary[0]["ceiling_share"], "")  # no number

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
        self.assertEqual((rows[0]["name"], float(rows[0]["value"]), rows[0]["units"]), ("fma_f64", 100.0, "GFLOP/s"))
        self.run_script(export, "--csv", "--tables", "all", path, "--out", os.path.join(made.SCRATCH, "every"))
        self.assertTrue(os.path.exists(os.path.join(made.SCRATCH, "every_phases.csv")))

    def test_what_cannot_be_exported_is_told(self):
        path = self.results("w.h5")
        self.assert_refused(self.run_script(export, "--extra-p", "--tables", "machine", path, code=64), "--tables")
        bare = self.path("bare.h5")
        with made.h5py.File(bare, "w") as file:
            made.put(file.create_group("locality_0001"), "points", {"point": ["k"]})
        self.assert_refused(self.run_script(export, "--csv", bare, code=65), "samples or summary", "--tables all")

    def test_json_is_valid_and_keeps_provenance_and_units(self):
        path = self.results("j.h5")
        self.run_script(export, "--json", path)
        with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
            text = file.read()
        found = json.loads(text, parse_constant=lambda word: self.fail(f"{word} is no JSON"))
        self.assertEqual([run["run"] for run in found["runs"]], ["matmul_0001", "sort_0001"])
        first = found["runs"][0]
        self.assertEqual((first["attributes"]["processor"], first["attributes"]["ranks"]), ("made up", 2))
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
                                         for k in ("naive", "tiled") for n in (4, 8, 16, 32, 64) for r in (1, 2)])
        self.run_script(export, "--extra-p", path)
        with open(os.path.splitext(path)[0] + ".jsonl", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual({frozenset(line["params"]) for line in lines}, {frozenset(("p", "t", "n", "m", "k"))})
        self.assertTrue(all(line["metric"] == "time" for line in lines))
        whole = [line for line in lines if line["callpath"] == "matmul->kernel=tiled"]
        self.assertEqual(len(whole), 5 * 2 * 2)
        self.assertEqual([line["value"] for line in whole if line["params"]["n"] == 8 and line["params"]["p"] == 2], [16.0, 17.0])
        # The mean of the ranks: 0.7 of the median 16.5, a second rank 10 % longer; then 0.6.
        phase = [line["value"] for line in lines if line["callpath"] == "matmul->kernel=tiled->compute"
                 and line["params"]["n"] == 8 and line["params"]["p"] == 2]
        self.assertTrue(all(math.isclose(a, b) for a, b in zip(phase, (16.5 * 0.7 * 1.05, 16.5 * 0.6 * 1.05))))
        self.assertFalse([line for line in lines if "verify" in line["callpath"]])

    def test_a_file_that_does_not_fit_is_as_it_was(self):
        path = self.results("full.h5")
        csv_of = os.path.splitext(path)[0] + "_samples.csv"
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        for kept in ("", "of an earlier export"):
            if kept:
                with open(csv_of, "w", encoding="utf-8") as file:
                    file.write(kept)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
            self.assert_refused(self.run_script(export, "--csv", path, code=73), csv_of)
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            self.assertEqual([name for name in os.listdir(made.SCRATCH) if name.startswith("full_")], ["full_samples.csv"] if kept else [])
        with open(csv_of, encoding="utf-8") as file:
            self.assertEqual(file.read(), kept)

    def test_workloads_go_to_files_of_their_own_for_extra_p(self):
        path = self.results("w.h5")
        words = self.run_script(export, "--extra-p", path)
        base = os.path.splitext(path)[0]
        self.assertEqual(words.splitlines(), [f"wrote {base}_matmul.jsonl", f"wrote {base}_sort.jsonl"])

    def test_wrong_requests_are_refused_in_one_line(self):
        path = self.results("wrong.h5")
        self.assert_refused(self.run_script(export, path, code=64), "--csv")
        self.assert_refused(self.run_script(export, "--csv", "--json", path, code=64))
        self.assert_refused(self.run_script(export, "--csv", path, "--tables", "summary,sumary", code=64), "'sumary'")
        self.assert_refused(self.run_script(export, "--csv", self.path("none.h5"), code=66))
        with open(self.path("words.h5"), "w", encoding="utf-8") as file:
            file.write("words")
        self.assert_refused(self.run_script(export, "--csv", os.path.join(made.SCRATCH, "words.h5"), code=65))
        self.assert_refused(self.run_script(export, "--json", path, "--out", os.path.join(made.SCRATCH, "no", "x"), code=73), "--out")


if __name__ == "__main__":
    made.main()
