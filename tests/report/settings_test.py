"""settings_test.py SCRIPTS TESSERA SCRATCH: pages with arbitrary user settings of matplotlib. Exits
with 77 without matplotlib."""
import os
import shutil
import subprocess
import sys

import made
from made import row, write

made.require("matplotlib")

SCRIPT = os.path.join(made.REPORT, "report.py")
SETTINGS = (b"text.usetex: True\n", b"backend: nosuch\n",
            b"font.family: no such font\nfont.size: 30\n", b"\xff\xfe\x00 no text",
            b"no.such.key: 1\nlines.linewidth: thick\n",
            b"axes.facecolor: red\nsavefig.dpi: 10\nfigure.figsize: 1, 1\n")


class Settings(made.Case):
    def setUp(self):
        self.home = os.path.join(made.SCRATCH, "home")
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.home)
        self.results = write(os.path.join(self.home, "r.h5"),
                             [row(k, n) for k in ("naive", "tiled") for n in (8, 16)])

    def report(self, code=0, **environment):
        """Returns the pictures of a page made in the home folder, {name: bytes}; checks that
        nothing else is printed."""
        base = {name: value for name, value in os.environ.items()
                if not name.startswith(("MPL", "MATPLOTLIB"))}
        done = subprocess.run([sys.executable, SCRIPT, "r.h5"], cwd=self.home, capture_output=True,
                              text=True, check=False,
                              env={**base, "HOME": self.home, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        folder, found = os.path.join(self.home, "r_png"), {}
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        shutil.rmtree(folder, ignore_errors=True)
        self.said = done.stderr
        return found

    def settings(self, place, text):
        path = os.path.join(self.home, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
        return path

    def test_no_settings_of_the_user_change_a_page(self):
        want = self.report()
        self.assertGreater(len(want), 1)
        for number, text in enumerate(SETTINGS):
            for place in ("matplotlibrc", *(".config/matplotlib/matplotlibrc",
                                            "named")[number:number + 1]):
                with self.subTest(text=text, place=place):
                    path = self.settings(place, text)
                    self.assertTrue(self.report(**({"MATPLOTLIBRC": path} if place == "named"
                                                   else {})) == want, self.said)
                    self.assertNotIn("Traceback", self.said)
                    os.remove(path)
        self.settings(".config/matplotlib/stylelib/mine.mplstyle", b"\xff\xfe\x00")
        os.mkdir(os.path.join(self.home, "matplotlibrc"))
        for backend in ("nosuch", "module://nosuch"):
            self.assertTrue(self.report(MPLBACKEND=backend) == want, self.said)

    def test_a_matplotlib_that_does_not_load_is_told_in_one_line(self):
        self.settings("broken/matplotlib/__init__.py",
                      b"raise RuntimeError('built for another numpy')\n")
        self.assertEqual(self.report(code=64, PYTHONPATH=os.path.join(self.home, "broken")), {})
        self.assert_refused(self.said, "built for another numpy", "--text")
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith("r")], ["r.h5"])


if __name__ == "__main__":
    made.main()
