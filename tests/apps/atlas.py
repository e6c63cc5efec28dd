"""tessera machine --atlas: printed chapters, tables of the results, pages; nothing here depends on
how fast this machine is, or how busy."""

import json
import os
import subprocess

import h5py

import tessera
from tessera import OK

UNITS = {"atlas_chases": {"bytes": "B", "latency": "ns", "median": "ns"},
         "atlas_levels": {"nominal": "B", "measured": "B", "latency": "ns"},
         "atlas_reaches": {"reach": "B"},
         "atlas_rates": {"bytes": "B", "bandwidth": "GB/s"},
         "atlas_operations": {"apart": "B", "time": "ns"},
         "atlas_roots": {"time": "ns"},
         "atlas_messages": {"bytes": "B", "time": "us", "bandwidth": "GB/s"}}


class Atlas(tessera.Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("a.h5")

    def measure(self, *words, **how):
        return self.succeed("machine", "--atlas", "--largest", "2MiB", *words,
                            environment={"OMP_NUM_THREADS": "2"}, **how)

    def rows(self, table, run="machine_0001"):
        with h5py.File(self.file) as file:
            group = file[run][table]
            columns = {name: group[name].asstr()[:] if group[name].dtype.kind in "OS"
                       else group[name][:] for name in group}
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def test_chapters_are_printed_and_stored_with_units(self):
        out = self.measure("--results", self.file).out
        for words in ("latency of dependent loads", "nominal size", "TLB: ",
                      "bandwidth, bytes read", "cost of an operation",
                      "inverse square roots of floats",
                      "absent: messages: start several ranks with mpirun",
                      f"results: {self.file} (group machine_0001)"):
            self.assertIn(words, out)
        with h5py.File(self.file) as file:
            run = file["machine_0001"]
            self.assertNotIn("atlas_messages", run)
            self.assertIn("processor", run.attrs)
            for table, units in UNITS.items():
                for column, unit in units.items() if table in run else ():
                    self.assertEqual(run[table][column].attrs["units"], unit, (table, column))
        self.check_chases(self.rows("atlas_chases"))
        self.check_rates(self.rows("atlas_rates"))
        self.check_operations(self.rows("atlas_operations"))

    def check_chases(self, rows):
        """Every kind up to the largest working set, in cycles of one length."""
        kinds = {row["chase"] for row in rows}
        self.assertEqual(kinds, {"lines, huge pages", "lines, small pages", "pages"})
        page = os.sysconf("SC_PAGE_SIZE")
        for row in rows:
            self.assertEqual(row["bytes"], row["loads"] * (page if row["chase"] == "pages" else 64))
            self.assertLessEqual(row["bytes"], 2 << 20)
            self.assertGreater(row["latency"], 0)
            self.assertLessEqual(row["latency"], row["median"])
            self.assertAlmostEqual(row["latency"] / row["cycles"],
                                   rows[0]["latency"] / rows[0]["cycles"])
        lines = [row["bytes"] for row in rows if row["chase"] == "lines, small pages"]
        self.assertEqual(lines, sorted(set(lines)))
        self.assertEqual((lines[0], lines[-1]), (4096, 2 << 20))

    def check_rates(self, rows):
        self.assertEqual({(row["traffic"], row["threads"]) for row in rows},
                         {(traffic, threads) for traffic in ("read", "write", "copy")
                          for threads in (1, 2)})
        for row in rows:
            self.assertGreater(row["bandwidth"], 0)

    def check_operations(self, rows):
        operations = {(row["operation"], row["apart"], row["threads"]): row["time"]
                      for row in rows}
        for name in ("region", "barrier", "task_fork"):
            self.assertIn((name, -1, 2), operations)
        self.assertGreater(operations["atomic_add", 128, 1], 0)
        for apart in (0, 8, 16, 32, 64, 128, 256):
            self.assertIn(("atomic_add", apart, 2), operations)

    def test_messages_by_size_between_pairs_of_ranks(self):
        self.measure("--results", self.file, ranks=3)
        rows = self.rows("atlas_messages")
        pairs = {(row["from"], row["to"]) for row in rows}
        self.assertEqual(pairs, {(0, 1), (0, 2), (1, 2)})
        first = [row["bytes"] for row in rows if (row["from"], row["to"]) == (0, 1)]
        self.assertEqual(first, [1, *(4 ** k for k in range(1, 12))])
        for row in rows:
            self.assertAlmostEqual(row["bandwidth"], 1e-3 * row["bytes"] / row["time"])

    def test_a_second_atlas_is_another_run(self):
        self.measure("--results", self.file)
        self.measure("--results", self.file)
        self.assertEqual(len(self.rows("atlas_rates", "machine_0002")),
                         len(self.rows("atlas_rates")))

    def test_the_answer_has_the_tables(self):
        tables = json.loads(self.measure("--json").out)["tables"]
        names = [table["table"] for table in tables]
        self.assertIn("atlas_chases", names)
        self.assertIn("atlas_operations", names)

    def test_wrong_requests(self):
        for words, message in ((("--largest", "2MiB"), "--largest requires --atlas"),
                               (("--results", self.file), "--results requires --atlas"),
                               (("--atlas", "--show"), "--atlas conflicts with --show"),
                               (("--atlas", "--largest", "1e12"), "exceeds a third of the")):
            with self.subTest(words):
                result = self.run_tessera("machine", *words)
                self.assertNotEqual(result.code, OK)
                self.assertIn(message, result.err)
        self.assertFalse(os.path.exists(self.file))


    def test_the_page_has_a_picture_of_each_chapter(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("no matplotlib")
        self.measure("--results", self.file, ranks=2)
        self.succeed("report", self.file)
        with open(self.path("a.html"), encoding="utf-8") as file:
            page = file.read()
        for title in ("Latency of dependent loads", "Bandwidth by working set",
                      "What an operation costs", "Messages between two ranks"):
            self.assertIn(title, page)
        text = self.succeed("report", "--text", self.file).out
        self.assertIn("machine: levels of memory", text)


if __name__ == "__main__":
    tessera.main()
