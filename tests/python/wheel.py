"""`pip wheel .`: what the wheel has, and what it computes once installed, with and without MPI.
Without the network and build isolation, hence skipped where scikit-build-core is not installed.

TESSERA_WHEEL_PYTHON names another Python to build for, such as that of a virtual environment."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

SKIPPED = 77  # the exit code that CTest reports as skipped
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.environ.get("TESSERA_WHEEL_PYTHON") or sys.executable
WITH_MPI = os.environ.get("TESSERA_PYTHON_MPI") not in ("OFF", "0")
NO_MPI = "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_MPI=ON"

CODE = """
import numpy, tessera
print(tessera.__file__, tessera.__version__)
values = numpy.random.default_rng(1)
a, b = values.integers(-8, 9, (2, 301, 301)).astype(float)
assert numpy.array_equal(tessera.matmul(a, b), a @ b)
keys = values.standard_normal(100_003)
assert numpy.array_equal(tessera.sort(keys), numpy.sort(keys))
try:
    from mpi4py import MPI
    c = tessera.DistArray.from_numpy(a, MPI.COMM_SELF)
    assert numpy.array_equal((c @ c).local, a @ a)
    print("on ranks")
except ImportError as missing:
    print(missing)
"""


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)


def pip(*arguments):
    """Returns (exit code, output) of pip, which must not look for anything in the network."""
    done = run(PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments, "--no-index",
               "--no-deps", env={**os.environ, "PIP_BREAK_SYSTEM_PACKAGES": "1"})
    return done.returncode, done.stdout


def version_of_header():
    with open(os.path.join(ROOT, "src", "base", "version.hpp"), encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define TESSERA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
                                   file.read(), re.M))


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp()
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", cls.scratch], check=True)
        cls.build = os.path.join(os.environ["TESSERA_BUILD"], "python_wheel")

    def wheel(self, name, *settings):
        """Builds a wheel; returns its path and what the build printed."""
        folder = os.path.join(self.scratch, name)
        words = [word for setting in (f"build-dir={self.build}", *settings)
                 for word in ("--config-settings", setting)]
        code, said = pip("wheel", "-v", "--no-build-isolation", "-w", folder, *words, ROOT)
        self.assertEqual(code, 0, said)
        (file,) = os.listdir(folder)
        return os.path.join(folder, file), said

    def content(self, wheel):
        """Returns the names in the wheel, without the tag of the modules."""
        with zipfile.ZipFile(wheel) as archive:
            self.assertIsNone(archive.testzip())
            return {re.sub(r"\.cpython.*|\.abi3\.so", "", name) for name in archive.namelist()}

    def installed(self, wheel):
        """Returns what CODE prints with the wheel installed into an empty folder."""
        target = wheel + ".installed"
        code, said = pip("install", "--target", target, wheel)
        self.assertEqual(code, 0, said)
        done = run(PYTHON, "-c", CODE, cwd=self.scratch, env={**os.environ, "PYTHONPATH": target})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"{target}/tessera/__init__.py {version_of_header()}\n", done.stdout)
        return done.stdout

    def test_with_and_without_mpi(self):
        one_process = {f"tessera/{name}" for name in (
            "__init__.py", "__init__.pyi", "_gpu.py", "_kernels", "_kernels.pyi", "_runs.py",
            "_runs.pyi", "py.typed", "results.py")}
        distributed = {f"tessera/{name}" for name in (
            "_distributed", "_distributed.pyi", "distributed.py", "fields.py", "halos.py",
            "keys.py", "layouts.py", "relayouts.py")}
        begin = f"tessera-{version_of_header()}"
        about = {f"{begin}.dist-info/{name}" for name in (
            "METADATA", "RECORD", "WHEEL", "licenses/LICENSE")}
        examples = {f"{begin}.data/data/share/tessera/examples/{name}" for name in
                    os.listdir(os.path.join(ROOT, "apps", "python", "examples"))}
        if WITH_MPI:
            wheel, _ = self.wheel("whole", "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_MPI=OFF")
            self.assertEqual(self.content(wheel), one_process | distributed | about | examples)
            if run(PYTHON, "-c", "import mpi4py").returncode == 0:
                self.assertIn("on ranks\n", self.installed(wheel))
        wheel, said = self.wheel("alone", NO_MPI)  # in the same build: its objects are reused
        self.assertIn("Tessera: MPI OFF: not found: MPI (names in jobs/packages.txt)", said)
        self.assertEqual(self.content(wheel), one_process | about)
        self.assertNotIn("on ranks", self.installed(wheel))

    def test_what_is_missing_is_named(self):
        code, said = pip("wheel", "--no-build-isolation", "-w", self.scratch, "--config-settings",
                         f"build-dir={self.build}_refused", "--config-settings", NO_MPI,
                         "--config-settings", "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_pybind11=ON",
                         ROOT)
        self.assertNotEqual(code, 0)
        self.assertRegex(said, r"cannot be built:\s+pybind11\s+was\s+not\s+found")


if __name__ == "__main__":
    if run(PYTHON, "-c", "import pip, scikit_build_core").returncode != 0:
        print(f"skipped: {PYTHON} lacks pip or scikit-build-core; pip install scikit-build-core")
        sys.exit(SKIPPED)
    unittest.main()
