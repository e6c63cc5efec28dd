"""tessera.DistArray on one rank: examples of the docstrings, and what is missing."""

import doctest
import importlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

from package import SKIPPED, numpy, tessera

try:
    from mpi4py import MPI
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-mpi4py")
    sys.exit(SKIPPED)
if os.environ.get("TESSERA_PYTHON_MPI") in ("OFF", "0"):
    print("skipped: the build is without MPI")
    sys.exit(SKIPPED)


def python(code, *folders):
    """Returns what a program prints, with its errors in order; its modules are first in folders."""
    path = os.pathsep.join([*folders, *sys.path])
    return subprocess.run([sys.executable, "-u", "-c", code], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "PYTHONPATH": path}).stdout


class Package(unittest.TestCase):
    def test_examples_of_the_docstrings(self):
        for module, least in (("layouts", 1), ("distributed", 12), ("fields", 4), ("halos", 5),
                              ("keys", 6), ("relayouts", 4)):
            found = doctest.testmod(importlib.import_module(f"tessera.{module}"),
                                    extraglobs={"numpy": numpy, "tessera": tessera, "MPI": MPI})
            self.assertEqual(found.failed, 0)
            self.assertGreaterEqual(found.attempted, least)

    def test_import_loads_no_mpi(self):
        code = ("import sys, tessera; print('mpi4py' in sys.modules, "
                "'libmpi' in open('/proc/self/maps').read())")
        self.assertEqual(python(code), "False False\n")

    def with_mpi4py(self, source):
        """Returns what the first use of DistArray prints with another mpi4py."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "mpi4py"))
            with open(os.path.join(folder, "mpi4py", "__init__.py"), "w", encoding="utf-8") as file:
                file.write(source)
            return python("import tessera; print(tessera.sort([2.0, 1.0])); tessera.DistArray(3)",
                          folder)

    def test_without_mpi4py_the_rest_works(self):
        said = self.with_mpi4py("raise ImportError('no mpi4py')")
        self.assertIn("[1. 2.]", said)
        self.assertRegex(said, "ImportError: tessera.DistArray needs mpi4py .*: no mpi4py\\n$")

    def test_another_mpi_library_is_refused(self):
        said = self.with_mpi4py("class MPI:\n    Comm = object\n"
                                "    def Get_library_version(): return 'MPICH Version: 9.9\\n'")
        self.assertRegex(said, "ImportError: mpi4py uses MPICH.*, tessera .*must be one MPI")

    def test_the_module_exports_its_entry_alone(self):
        module = importlib.import_module("tessera._distributed")
        symbols = subprocess.run(["nm", "-D", "--defined-only", module.__file__], text=True,
                                 check=True, stdout=subprocess.PIPE)
        self.assertEqual(re.findall(r"\S+$", symbols.stdout, re.M), ["PyInit__distributed"])


if __name__ == "__main__":
    unittest.main()
