"""energy_test.py SCRIPTS TESSERA SCRATCH: tables of energy against manually derived numbers."""
import math

import made
from made import row, write

made.require("matplotlib")

import energy
import report
import results

NAN = math.nan


class Energy(made.Case):
    def made(self, name, *rows):
        """Returns a file with these rows (repetition, domain, joules, watts, idle watts, reason) of
        naive (work of 2 x 10^6), and another point without energy."""
        path = write(self.path(name), [row("naive", 100), row("tiled", 100)])
        key = made.key_of("matmul", row("naive", 100))
        names = ("repetition", "domain", "joules", "watts", "idle_watts", "reason")
        columns = made.turned(rows, names)
        columns["idle_share"] = [idle / watts for _, _, _, watts, idle, _ in rows]
        with made.h5py.File(path, "a") as file:
            made.put(file["matmul_0001"], "energy", {"point": [key] * len(rows), **columns})
        return path

    def table_of(self, path):
        text = self.run_script(report, path, "--text")
        self.assertIn("matmul: energy of a repetition\n", text)
        lines = text.split("matmul: energy of a repetition\n")[1].split("\n\n")[0].splitlines()
        return [line.split() for line in lines if "---" not in line]

    def test_joules_of_the_work_and_sums_without_the_platform(self):
        path = self.made("parts.h5", (-1, "package", 3.0, 150.0, 60.0, ""),
                         (0, "package", 2.9, 149.0, 60.0, ""), (-1, "dram", 1.0, 50.0, 40.0, ""),
                         (-1, "platform", 9.0, 450.0, 45.0, ""))
        self.assertEqual(self.table_of(path), [
            ["kernel", "domain", "energy", "power", "idle", "per", "FLOP"],
            ["naive", "package", "3", "J", "150", "W", "40", "%", "1.5", "uJ"],
            ["naive", "dram", "1", "J", "50", "W", "80", "%", "500", "nJ"],
            ["naive", "platform", "9", "J", "450", "W", "10", "%", "4.5", "uJ"],
            ["naive", "all", "4", "J", "200", "W", "50", "%", "2", "uJ"]])
        page = path.replace(".h5", ".html")
        self.run_script(report, path, "--html", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn("matmul: energy of a repetition", file.read())

    def test_what_was_not_measured_has_its_reason(self):
        path = self.made("short.h5", (-1, "gpu", NAN, NAN, 70.0, "too short: 1 s is needed"))
        self.assertEqual(self.table_of(path), [
            ["kernel", "domain", "missing"],
            ["naive", "gpu", "too", "short:", "1", "s", "is", "needed"]])

    def test_without_counters_there_is_no_table(self):
        path = write(self.path("none.h5"), [row("naive", 100)])
        self.assertNotIn("energy", self.run_script(report, path, "--text"))
        self.assertEqual(results.read(path)[0].points[0].energy, [])

    def test_texts(self):
        self.assertEqual([energy.joules(v) for v in (1234.5, 12.34, 0.9996, 2e-12, 4.5e-5, 0, NAN)],
                         ["1234 J", "12.3 J", "1 J", "2 pJ", "45 uJ", "0 J", "-"])
        self.assertEqual([energy.unit_of(u) for u in ("GFLOP/s", "GB/s in kernels", "Mkeys/s",
                                                      "Gpoints/s", "")],
                         ["FLOP", "B", "key", "point", "work"])


if __name__ == "__main__":
    made.main()
