"""Energy counters of the test in place of the machine's: every reading of one gets another value,
which the test keeps. The results have the differences of these values."""

import itertools
import json
import os
import random
import re
import threading

import tessera
from tessera import h5py, numpy

RANGE = 3_000_000_000  # microjoules: a counter wraps around after some readings
LONG = ("matmul", "--n", 500, "--kernel", "naive", "--repetitions", 3, "--warmups", 1)


class Counter:
    """A zone of powercap. Its file is a pipe: a reader waits for its value, and the next one finds
    another pipe."""

    def __init__(self, folder, name, readings=10**9):
        os.makedirs(folder)
        self.path, self.given, self.readings = os.path.join(folder, "energy_uj"), [], readings
        self.random = random.Random(tessera.SEED)
        for file, text in (("name", name), ("max_energy_range_uj", RANGE)):
            with open(os.path.join(folder, file), "w", encoding="ascii") as out:
                out.write(f"{text}\n")
        os.mkfifo(self.path)
        threading.Thread(target=self.give, daemon=True).start()

    def give(self):
        """Gives its readings; then the file vanishes."""
        value, spent = RANGE // 2, 0
        for number in range(self.readings):
            pipe = os.open(self.path, os.O_WRONLY)
            if number + 1 < self.readings:
                os.mkfifo(self.path + ".next")
                os.rename(self.path + ".next", self.path)
            else:
                os.remove(self.path)
            more = self.random.randrange(1_000_000, RANGE // 4)
            value, spent = (value + more) % RANGE, spent + more
            self.given.append(spent / 1e6)
            os.write(pipe, f"{value}\n".encode())
            os.close(pipe)

    def differences(self):
        """Returns the joules between any two readings."""
        return numpy.array([b - a for a, b in itertools.combinations(self.given, 2)])


class Energy(tessera.Case):
    def setUp(self):
        super().setUp()
        self.zones = self.path("powercap")
        os.makedirs(self.zones)
        self.how = {"environment": {"TESSERA_POWERCAP": self.zones}}

    def add(self, zone, name, **how):
        return Counter(os.path.join(self.zones, zone), name, **how)

    def rows(self, file="r.h5", missing=""):
        """Returns the rows of the table `energy`, and the seconds of the repetitions."""
        with h5py.File(self.path(file)) as results:
            run = results["matmul_0001"]
            self.assertEqual(run.attrs["energy_missing"], missing)
            table = {name: column.asstr()[:] if column.dtype.kind == "O" else column[:]
                     for name, column in run["energy"].items()}
            units = {name: run["energy"][name].attrs["units"]
                     for name in ("joules", "seconds", "watts", "idle_watts")}
            self.assertEqual(units, {"joules": "J", "seconds": "s", "watts": "W",
                                     "idle_watts": "W"})
            seconds = list(run["samples/seconds"])
        return [dict(zip(table, values)) for values in zip(*table.values())], seconds

    def assert_given(self, row, counter):
        nearest = abs(counter.differences() - row["joules"]).min()
        self.assertLess(nearest, 1e-6, row)

    def assert_measured(self, rows, seconds, counter, domain):
        mine = [row for row in rows if row["domain"] == domain]
        mean, *each = mine
        self.assertEqual([row["repetition"] for row in mine], [-1, 0, 1, 2])
        for row, time in zip(each, seconds):
            self.assert_given(row, counter)
            self.assertGreaterEqual(row["seconds"], time)
        self.assertAlmostEqual(mean["joules"], numpy.mean([row["joules"] for row in each]), 9)
        for row in mine:
            self.assertAlmostEqual(row["watts"], row["joules"] / row["seconds"], 6)
            self.assertAlmostEqual(row["idle_share"], row["idle_watts"] / row["watts"], 9)
            self.assertEqual((row["counters"], row["source"], row["reason"]), (1, "powercap", ""))
        self.assertLessEqual(mean["idle_watts"], mean["watts"] * (1 + 1e-9))
        return mean

    def test_results_have_what_the_counter_gave(self):
        counter = self.add("intel-rapl:0", "package-0")
        for ranks in (0, 2, 3):  # on one node, which is counted once
            with self.subTest(ranks=ranks):
                file = f"r{ranks}.h5"
                out = self.succeed(*LONG, "--results", file, ranks=ranks, **self.how).out
                self.assertRegex(out, r"  energy, J +power, W +idle, % +check\n")
                mean = self.assert_measured(*self.rows(file), counter, "package")
                shown = re.search(r"\n *naive .* ([\d.e+]+) +([\d.e+]+) +\d+ +passed", out)
                for text, name in zip(shown.groups(), ("joules", "watts")):
                    self.assertAlmostEqual(float(text) / mean[name], 1, 2)

    def test_every_domain_has_its_rows(self):
        zones = {"package": self.add("intel-rapl:0", "package-0"),
                 "dram": self.add("intel-rapl:0:1", "dram"),
                 "platform": self.add("intel-rapl:1", "psys")}
        answer = json.loads(self.succeed(*LONG, "--results", "r.h5", "--json", **self.how).out)
        rows, seconds = self.rows()
        means = {domain: self.assert_measured(rows, seconds, counter, domain)
                 for domain, counter in zones.items()}
        told = {one["domain"]: one for one in answer["points"][0]["energy"]}
        self.assertEqual({name: one["joules"] for name, one in told.items()},
                         {name: one["joules"] for name, one in means.items()})
        # the platform contains the others
        total = means["package"]["joules"] + means["dram"]["joules"]
        [line] = [line for line in answer["lines"] if line.startswith("naive")]
        self.assertAlmostEqual(float(line.split("passed")[0].split()[-3]) / total, 1, 2)

    def test_packages_add_up(self):
        packages = [self.add(f"intel-rapl:{p}", f"package-{p}") for p in range(2)]
        self.succeed(*LONG, "--results", "r.h5", **self.how)
        rows, _ = self.rows()
        self.assertEqual({row["domain"] for row in rows}, {"package"})
        sums = numpy.add.outer(*(counter.differences() for counter in packages))
        for row in rows[1:]:
            self.assertLess(abs(sums - row["joules"]).min(), 1e-6, row)
            self.assertEqual(row["counters"], 2)

    def test_what_is_too_short_has_no_energy(self):
        self.add("intel-rapl:0", "package-0")
        out = self.succeed("matmul", "--n", 8, "--repetitions", 2, "--results", "r.h5",
                           **self.how).out
        rows, seconds = self.rows()
        for row in rows:
            time = row["seconds"] * (2**0.5 if row["repetition"] < 0 else 1)
            self.assertEqual(numpy.isnan(row["joules"]), time < 0.01, row)
        if numpy.isnan(rows[0]["joules"]):  # unless others had the cores
            self.assertEqual(rows[0]["reason"], "too short: 14.1 ms is needed")
            self.assertNotIn("energy", out)

    def test_a_counter_that_vanishes_ends_no_run(self):
        self.add("intel-rapl:0", "package-0", readings=5)
        out = self.succeed(*LONG, "--results", "r.h5", **self.how).out
        gone = os.path.join(self.zones, "intel-rapl:0/energy_uj") + ": No such file or directory"
        rows, _ = self.rows(missing=gone)
        self.assertTrue(numpy.isnan(rows[0]["joules"]), rows)
        self.assertEqual(rows[0]["reason"], gone)
        self.assertNotIn("energy", out)  # a column without values

    def test_without_counters_nothing_is_shown_but_the_reason(self):
        def missing():
            out = self.succeed("matmul", "--n", 8, "--results", "r.h5", "--again", "--json",
                               **self.how).out
            answer = json.loads(out)
            self.assertEqual(answer["points"][0]["energy"], [])
            self.assertNotIn("energy", " ".join(answer["lines"]))
            with h5py.File(self.path("r.h5")) as file:
                run = file[answer["results"]["run"]]
                self.assertNotIn("energy", run)
                return run.attrs["energy_missing"]

        self.assertEqual(missing(), f"no energy counters in {self.zones}")
        zone = os.path.join(self.zones, "intel-rapl:0")
        os.makedirs(os.path.join(zone, "energy_uj"))
        with open(os.path.join(zone, "name"), "w", encoding="ascii") as file:
            file.write("package-0\n")
        self.assertEqual(missing(), f"{zone}/energy_uj: Is a directory")

    def test_the_machine_lists_counters(self):
        out = self.succeed("machine", "--show", **self.how).out
        self.assertIn(f"energy of package: not measured (no energy counters in {self.zones})", out)
        self.add("intel-rapl:0", "package-0")
        out = self.succeed("machine", "--show", **self.how).out
        self.assertIn("energy of package: intel-rapl:0 (powercap)", out)
        answer = json.loads(self.succeed("machine", "--show", "--json", **self.how).out)
        self.assertEqual(answer["energy"][0], {"domain": "package", "counter": "intel-rapl:0",
                                               "source": "powercap", "reason": ""})

    def test_the_report_has_joules_of_the_work(self):
        self.add("intel-rapl:0", "package-0")
        self.succeed(*LONG, "--results", "r.h5", **self.how)
        rows, _ = self.rows()
        out = self.succeed("report", "r.h5", "--text").out
        self.assertIn("matmul: energy of a repetition", out)
        line = out.split("matmul: energy of a repetition")[1].splitlines()[3].split()
        self.assertEqual(line[:2], ["naive", "package"])
        units = {"mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9}
        shown = float(line[-2]) * units[line[-1]]
        self.assertAlmostEqual(shown / (rows[0]["joules"] / (2 * 500**3)), 1, 2)


if __name__ == "__main__":
    tessera.main()
