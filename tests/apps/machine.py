"""Ceilings kept by `tessera machine`: none measured under load, and none in locations where others
can write."""

import os
import re
import subprocess

import tessera
from tessera import OK


class Machine(tessera.Case):
    def setUp(self):
        super().setUp()
        self.file = self.path("m.toml")
        self.kept = {"TESSERA_MACHINE_FILE": self.file}

    def spin(self):
        """Starts two busy processes per core."""
        for _ in range(2 * os.cpu_count()):
            spinner = subprocess.Popen(["sh", "-c", "while kill -0 $PPID; do :; done"])
            self.addCleanup(spinner.wait)
            self.addCleanup(spinner.kill)

    def rows(self):
        with open(self.file) as file:
            text = file.read()
        found = re.findall(r'name = "(\w+)"\nthreads = (\d+)\nvalue = ([0-9.e+-]+)', text)
        return {(name, int(threads)): float(value) for name, threads, value in found}

    def write(self, rows):
        with open(self.file, "w") as file:
            file.write('host = "h"\nmeasured_at = "t"\n')
            for (name, threads), (value, units) in rows.items():
                file.write(f'\n[[ceiling]]\nname = "{name}"\nthreads = {threads}\nvalue = '
                           f'{value:e}\nunits = "{units}"\n')

    def measure(self, **how):
        return self.succeed("machine", "--seconds", 0.01, environment=self.kept, **how)


class Busy(Machine):
    def test_what_is_measured_beside_others_is_not_kept(self):
        self.spin()
        out = self.measure(ranks=2).out
        self.assertRegex(
            out, r"other processes used \d+ % of the cores: \d+ rows not stored "
            r"\(0 kept from before\)")
        self.assertEqual(self.rows(), {})
        self.assertIn(f"not stored: {self.file} is unchanged\n", out)
        self.assertNotIn("stored in", out)
        self.assertNotIn("not measured yet", out)

    def test_refused_rows_leave_the_date_of_those_kept(self):
        kept = {("copy", 1): (1e15, "GB/s")}
        self.write(kept)
        self.spin()
        self.assertIn("not stored: ", self.measure().out)
        with open(self.file) as file:
            self.assertIn('measured_at = "t"\n', file.read())

    def test_what_is_better_stays_and_what_is_worse_goes(self):
        """No machine reaches 1e15 of any rate, and every one exceeds 1e-9. Costs can be 0."""
        fast = {("fma_f64", 1): (1e15, "GFLOP/s"), ("copy", 1): (1e15, "GB/s")}
        slow = {("fma_f32", 1): (1e-9, "GFLOP/s"), ("triad", 1): (1e-9, "GB/s"),
                ("task_join", 1): (1e9, "us")}
        self.write({**fast, **slow})
        self.spin()
        out = self.measure().out
        rows = self.rows()
        self.assertEqual(sorted(rows), sorted({**fast, **slow}))
        for row, (value, _) in fast.items():
            self.assertEqual(rows[row], value)
        for row, (value, _) in slow.items():
            self.assertTrue(rows[row] > 1e3 * value or rows[row] < 1e-3 * value, rows)
        self.assertIn("(2 kept from before)", out)


class Places(Machine):
    """For a user without a home no file is in a location writable by others."""

    def homeless(self, *words, **more):
        nowhere = {"HOME": "", "XDG_CACHE_HOME": "", "TESSERA_MACHINE_FILE": "", **more}
        return self.succeed(*words, environment=nowhere)

    def test_a_folder_of_others_is_not_used(self):
        target = self.path("precious")
        host = os.uname().nodename
        for way in ("a folder that all can write to", "a link that leads away"):
            with self.subTest(way):
                cache = self.path(way)
                os.makedirs(os.path.join(cache, "tessera"))
                os.chmod(os.path.join(cache, "tessera"), 0o777)
                if way.startswith("a link"):
                    os.symlink(target, os.path.join(cache, "tessera", f"{host}.toml"))
                result = self.homeless("machine", "--show", XDG_CACHE_HOME=cache)
                self.assertIn("not measured yet", result.out)
                self.assertEqual(os.listdir(os.path.join(cache, "tessera")),
                                 [f"{host}.toml"] if way.startswith("a link") else [])
                self.assertFalse(os.path.exists(target))

    def test_measuring_says_that_nothing_is_kept(self):
        cache = self.path("cache")
        os.makedirs(os.path.join(cache, "tessera"))
        os.chmod(os.path.join(cache, "tessera"), 0o777)
        result = self.homeless("machine", "--seconds", 0.01, XDG_CACHE_HOME=cache)
        self.assertRegex(
            result.out,
            r"not stored: '.*cache/tessera' belongs to another user, or is writable by others; "
            "set TESSERA_MACHINE_FILE")
        self.assertEqual(os.listdir(os.path.join(cache, "tessera")), [])

    def test_nothing_in_a_common_folder(self):
        before = os.path.exists("/tmp/tessera")
        result = self.homeless("machine", "--show")
        self.assertEqual(result.code, OK)
        self.assertEqual(os.path.exists("/tmp/tessera"), before)


if __name__ == "__main__":
    tessera.main()
