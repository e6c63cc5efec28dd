"""The package from the outside: wrong calls, threads of Python, forks, docstrings, stubs, and what
the module links."""

import ast
import concurrent.futures
import doctest
import glob
import inspect
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import tracemalloc
import unittest

from package import ROOT, generator, numpy, tessera

FUNCTIONS = {"matmul", "transpose", "permute", "sort", "argsort", "stencil", "threads"}


OF_ONE_PROCESS = ("__init__.py", "__init__.pyi", "_gpu.py", "_kernels", "_kernels.pyi", "_runs.py",
                  "_runs.pyi", "py.typed", "results.py")
ON_RANKS = (() if os.environ.get("TESSERA_PYTHON_MPI") in ("OFF", "0") else
            ("_distributed", "_distributed.pyi", "distributed.py", "fields.py", "halos.py",
             "keys.py", "layouts.py", "relayouts.py"))


class Huge:
    """An integer that does not fit any type of C."""

    def __index__(self):
        return 10**30


def read_only(x):
    x.flags.writeable = False
    return x


M, V = numpy.zeros((3, 4)), numpy.zeros(6)
WRONG = [  # exception, its text, call
    (ValueError, "b has shape", lambda: tessera.matmul(M, M)),
    (ValueError, "b has shape", lambda: tessera.matmul(V, M)),
    (ValueError, "a has 3 dimensions", lambda: tessera.matmul(numpy.zeros((2, 3, 4)), M.T)),
    (ValueError, "b has 0 dimensions", lambda: tessera.matmul(M, 3.0)),
    (TypeError, "a has dtype int64 and b int64",
     lambda: tessera.matmul(numpy.ones((2, 2), int), numpy.ones((2, 2), int))),
    (TypeError, "a has dtype object", lambda: tessera.matmul(M.astype(object), M.T)),
    (TypeError, "a has dtype longdouble|a has dtype float128",
     lambda: tessera.matmul(M.astype(numpy.longdouble), M.T)),
    (TypeError, "b is a masked array", lambda: tessera.matmul(M, numpy.ma.masked_array(M.T))),
    (ValueError, "out has shape", lambda: tessera.matmul(M, M.T, out=numpy.zeros((3, 4)))),
    (TypeError, "out has dtype", lambda: tessera.matmul(M, M.T, out=numpy.zeros((3, 3), "f4"))),
    (TypeError, "out is of type", lambda: tessera.matmul(M, M.T, out=[[0] * 3] * 3)),
    (ValueError, "out has strides",
     lambda: tessera.matmul(M, M.T, out=numpy.zeros((6, 6))[::2, ::2])),
    (ValueError, "out is read-only",
     lambda: tessera.matmul(M, M.T, out=read_only(numpy.zeros((3, 3))))),
    (ValueError, "threads is -1", lambda: tessera.matmul(M, M.T, threads=-1)),
    (ValueError, "threads is", lambda: tessera.sort(V, threads=Huge())),
    (TypeError, "threads is 1.5", lambda: tessera.sort(V, threads=1.5)),
    (TypeError, "threads is None", lambda: tessera.transpose(M, threads=None)),
    (ValueError, r"axes is \(0, 0\)", lambda: tessera.transpose(M, (0, 0))),
    (ValueError, r"axes is \(0, 2\)", lambda: tessera.transpose(M, (0, 2))),
    (ValueError, r"axes is \(1,\)", lambda: tessera.transpose(M, (1,))),
    (ValueError, r"axes is \(0, 1, 0\)", lambda: tessera.transpose(M, (0, 1, 0))),
    (TypeError, r"axes is 1:", lambda: tessera.transpose(M, 1)),
    (TypeError, r"axes is \(0.5, 1\)", lambda: tessera.transpose(M, (0.5, 1))),
    (ValueError, r"axes is \(10{9}", lambda: tessera.transpose(M, (10**30, 0))),
    (ValueError, "axes separate 7 axes", lambda: tessera.transpose(numpy.zeros((2,) * 7))),
    (TypeError, "a has dtype object", lambda: tessera.transpose(M.astype(object))),
    (ValueError, "out has strides",
     lambda: tessera.transpose(M, out=numpy.zeros((4, 3), order="F"))),
    (ValueError, "out overlaps a", lambda: tessera.transpose(M, out=M.reshape(4, 3))),
    (ValueError, "a has 2 dimensions", lambda: tessera.sort(M)),
    (ValueError, "a has 0 dimensions", lambda: tessera.argsort(3)),
    (TypeError, "a has dtype complex128", lambda: tessera.sort(V.astype(complex))),
    (TypeError, "a has dtype complex64", lambda: tessera.argsort(V.astype("c8"))),
    (ValueError, "axes is", lambda: tessera.permute(M, (0, 0))),
    (TypeError, "a has dtype <U1", lambda: tessera.sort(["b", "a"])),
    (ValueError, "out overlaps a", lambda: tessera.sort(V[:5], out=V[1:])),
    (ValueError, "out has strides", lambda: tessera.sort(V[:3], out=numpy.zeros(6)[::2])),
    (TypeError, "out has dtype", lambda: tessera.argsort(V, out=numpy.zeros(6))),
    (ValueError, "out overlaps a",
     lambda: tessera.argsort(V.view(numpy.int64), out=V.view(numpy.int64))),
    (ValueError, "steps is -1", lambda: tessera.stencil(V, -1)),
    (TypeError, "steps is 2.0", lambda: tessera.stencil(V, 2.0)),
    (ValueError, "kernel 'heart' is unknown", lambda: tessera.stencil(V, 1, kernel="heart")),
    (ValueError, "kernel 'life' is not defined", lambda: tessera.stencil(V, 1, kernel="life")),
    (ValueError, "kernel is wave", lambda: tessera.stencil(V, 1, kernel="wave")),
    (TypeError, "", lambda: tessera.stencil(V, 1, kernel=3)),
    (ValueError, "boundary 'wrab' is unknown", lambda: tessera.stencil(V, 1, boundary="wrab")),
    (ValueError, "boundary is given", lambda: tessera.stencil(V, 1, boundary="given")),
    (ValueError, "weights has 1 dimensions", lambda: tessera.stencil(M, 1, weights=[1, 2, 1])),
    (ValueError, "only zero weights", lambda: tessera.stencil(V, 1, weights=[0, 0, 0])),
    (ValueError, "not finite", lambda: tessera.stencil(V, 1, weights=[1, numpy.nan, 1])),
    (ValueError, "0 x .* weights|weights: must be 1", lambda: tessera.stencil(V, 1, weights=[])),
    (TypeError, "weights has dtype complex", lambda: tessera.stencil(V, 1, weights=[1j])),
    (TypeError, "u has dtype int64", lambda: tessera.stencil([1, 2, 3], 1)),
    (ValueError, "u has 4 dimensions", lambda: tessera.stencil(numpy.zeros((2,) * 4), 1)),
    (ValueError, "out overlaps u", lambda: tessera.stencil(V[:5], 1, out=V[1:])),
    (TypeError, "positional", lambda: tessera.matmul(M, M.T, None)),
    (MemoryError, "", lambda: tessera.matmul(numpy.zeros((2**24, 1)), numpy.zeros((1, 2**24)))),
]


class WrongCalls(unittest.TestCase):
    def test_exceptions_name_the_argument(self):
        for kind, words, call in WRONG:
            with self.subTest(words=words):
                with self.assertRaisesRegex(kind, words):
                    call()

    def test_operands_in_out_are_refused_and_left(self):
        square = numpy.arange(16.0).reshape(4, 4)
        before = square.copy()
        other = numpy.eye(4)
        for a, b, name in ((square, other, "a"), (other, square, "b"), (square[::-1], other, "a")):
            with self.assertRaisesRegex(ValueError, f"out overlaps {name}"):
                tessera.matmul(a, b, out=square)
        numpy.testing.assert_array_equal(square, before)


class Threads(unittest.TestCase):
    def test_calls_at_once_give_right_results(self):
        values, _ = generator(31)
        a, b = values.integers(-8, 9, (2, 301, 301)).astype(float)
        keys = [values.standard_normal(300_007) for _ in range(4)]

        def work(number):
            x, threads = keys[number % 4], number % 3
            return (numpy.array_equal(tessera.matmul(a, b, threads=threads), a @ b)
                    and numpy.array_equal(tessera.sort(x, threads=threads), numpy.sort(x))
                    and numpy.array_equal(x[tessera.argsort(x, threads=threads)], numpy.sort(x))
                    and numpy.array_equal(tessera.transpose(a, threads=threads), a.T))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(work, range(24))), [True] * 24)

    def test_the_gil_is_released(self):
        """Python code runs while a kernel does: many steps during a sort of 8 million keys."""
        keys = generator(32)[0].standard_normal(8_000_000)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            call, steps = pool.submit(tessera.sort, keys, threads=1), 0
            while not call.done():
                steps += 1
            call.result()
        self.assertGreater(steps, 100)

    def test_fewer_by_the_environment(self):
        code = "import tessera; print(tessera.threads())"
        for threads in ("1", "3"):
            done = subprocess.run([sys.executable, "-c", code], text=True, check=True,
                                  stdout=subprocess.PIPE,
                                  env={**os.environ, "OMP_NUM_THREADS": threads,
                                       "PYTHONPATH": os.pathsep.join(sys.path)})
            self.assertEqual(done.stdout.strip(), threads)

    def test_a_forked_process_computes(self):
        a = generator(33)[0].integers(-8, 9, (400, 400)).astype(float)
        expected = tessera.matmul(a, a, threads=2)
        child = os.fork()
        if child == 0:
            right = (numpy.array_equal(tessera.matmul(a, a, threads=2), expected)
                     and tessera.threads() == 1
                     and numpy.array_equal(tessera.sort(a.ravel()), numpy.sort(a.ravel())))
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Copies(unittest.TestCase):
    def test_layouts_of_the_kernels_are_read_in_place(self):
        """numpy allocates the result and no copy of a 2 MB operand."""
        a = numpy.ones((600, 600))
        gaps, vector = numpy.ones((600, 700))[:, 50:650], numpy.ones((600, 3))[:, 1]
        reads = [lambda: tessera.matmul(a, a), lambda: tessera.matmul(a.T, gaps),
                 lambda: tessera.matmul(gaps, gaps.T), lambda: tessera.matmul(a, vector),
                 lambda: tessera.transpose(a), lambda: tessera.transpose(gaps),
                 lambda: tessera.transpose(a.reshape(6, 100, 600).transpose(2, 0, 1)),
                 lambda: tessera.sort(a.ravel()), lambda: tessera.sort(a.ravel()[::-1])]
        for number, read in enumerate(reads):
            tracemalloc.start()
            result = read()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertLess(peak - result.nbytes, 100_000, number)


class Package(unittest.TestCase):
    def test_examples_of_the_docstrings(self):
        found = doctest.testmod(tessera, extraglobs={"numpy": numpy, "tessera": tessera})
        self.assertEqual(found.failed, 0)
        self.assertGreaterEqual(found.attempted, 12)
        for name in FUNCTIONS:
            self.assertIn(">>>", getattr(tessera, name).__doc__)

    def test_version_is_the_projects(self):
        with open(os.path.join(ROOT, "src", "base", "version.hpp"), encoding="utf-8") as file:
            version = re.findall(r"^#define TESSERA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
                                 file.read(), re.M)
        self.assertEqual(tessera.__version__, ".".join(version))
        with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
            source = tomllib.load(file)["tool"]["scikit-build"]["metadata"]["version"]
        with open(os.path.join(ROOT, source["input"]), encoding="utf-8") as file:
            parts = re.search(source["regex"], file.read()).groupdict()
        self.assertEqual(source["result"].format(**parts), tessera.__version__)

    def test_numpy_2_is_refused_or_known(self):
        """Numpy 1 that calls itself 2: refused by a build with a pybind11 older than numpy 2."""
        code = ("import numpy; numpy.__version__ = '2.0.0'\n"
                "import tessera; print(tessera.sort([2.0, 1.0]))")
        done = subprocess.run([sys.executable, "-c", code], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertRegex(done.stdout, r"\[1\. 2\.\]|ImportError: tessera was built with pybind11 2"
                                      r"\.\d+, which does not support numpy 2\.0\.0: .*2\.12")

    def test_stubs_have_the_functions_signatures(self):
        folder = os.path.dirname(tessera.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as file:
            stubs = {node.name: node.args for node in ast.parse(file.read()).body
                     if isinstance(node, ast.FunctionDef)}
        self.assertEqual(set(stubs), FUNCTIONS)
        self.assertEqual(set(tessera.__all__), FUNCTIONS | {"read_results"})
        for name, stub in stubs.items():
            real = inspect.signature(getattr(tessera, name)).parameters.values()
            self.assertEqual([x.arg for x in stub.args],
                             [x.name for x in real if x.kind == x.POSITIONAL_OR_KEYWORD])
            self.assertEqual([x.arg for x in stub.kwonlyargs],
                             [x.name for x in real if x.kind == x.KEYWORD_ONLY])

    @unittest.skipUnless("TESSERA_BUILD" in os.environ, "TESSERA_BUILD is the folder of the build")
    def test_its_component_is_installed_alone(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", os.environ["TESSERA_BUILD"], "--prefix", prefix,
                            "--component", "python"], check=True, stdout=subprocess.DEVNULL)
            files = {os.path.relpath(os.path.join(folder, name), prefix)
                     for folder, _, names in os.walk(prefix) for name in names}
            (init,) = [name for name in files if name.endswith("/tessera/__init__.py")]
            self.assertRegex(init, "^lib/python3[^/]*/(dist|site)-packages/")
            packages = os.path.dirname(os.path.dirname(init))
            self.assertEqual(
                {re.sub(r"\.cpython.*", "", os.path.relpath(x, packages)) for x in files
                 if not x.startswith("share/tessera/examples/")},
                {f"tessera/{x}" for x in (*OF_ONE_PROCESS, *ON_RANKS)})
            code = "import tessera; print(tessera.sort([2.0, 1.0]), tessera.__file__)"
            done = subprocess.run([sys.executable, "-c", code], text=True, check=True, cwd=prefix,
                                  stdout=subprocess.PIPE,
                                  env={**os.environ,
                                       "PYTHONPATH": os.path.join(prefix, packages)})
            self.assertEqual(done.stdout.strip(), f"[1. 2.] {os.path.join(prefix, init)}")

    def test_the_module_links_neither_mpi_nor_hdf5(self):
        (module,) = glob.glob(os.path.join(os.path.dirname(tessera.__file__), "_kernels.*.so"))
        linked = subprocess.run(["ldd", module], text=True, check=True, stdout=subprocess.PIPE)
        self.assertRegex(linked.stdout, "libg?omp")  # of GCC or of clang
        self.assertNotRegex(linked.stdout, "libmpi|hdf5|libcuda")
        symbols = subprocess.run(["nm", "-D", "--defined-only", module], text=True, check=True,
                                 stdout=subprocess.PIPE)
        self.assertEqual([line.split()[-1] for line in symbols.stdout.splitlines()],
                         ["PyInit__kernels"])


if __name__ == "__main__":
    unittest.main()
