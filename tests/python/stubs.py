"""Types and docstrings of the public names; mypy's stubtest where it is installed."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

from package import tessera

FOLDER = os.path.dirname(tessera.__file__)
MODULES = ["__init__", "results", "_gpu"]
COMPILED = ["_kernels"]
if os.environ.get("TESSERA_PYTHON_MPI") not in ("OFF", "0"):
    try:
        import mpi4py  # noqa: F401
        MODULES += ["distributed", "fields", "halos", "keys", "layouts", "relayouts"]
        COMPILED += ["_distributed"]
    except ImportError:
        print("without the modules of the ranks, which need mpi4py")

# Differences that stubtest is to allow: the report's reader, whose stub has what the package calls;
# an import for type checkers; and what pybind11 adds to classes.
ALLOWED = r"""tessera\._runs\..*
tessera\.results\.pandas
tessera\._distributed\.(Cut|Field|Halo|Ranks|Relayout)
tessera\._kernels\.Place.*
"""


def module_of(name):
    return tessera if name == "__init__" else importlib.import_module(f"tessera.{name}")


def tree_of(file):
    with open(os.path.join(FOLDER, file), encoding="utf-8") as source:
        return ast.parse(source.read())


def functions_of(tree):
    """Returns the functions and methods of a module with the names of their classes."""
    return [(f"{node.name}.{inner.name}" if inner is not node else node.name, inner)
            for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            for inner in ([node] if isinstance(node, ast.FunctionDef) else node.body)
            if isinstance(inner, ast.FunctionDef)]


class Typed(unittest.TestCase):
    def test_every_function_is_annotated(self):
        for name in MODULES:
            stub = f"{name}.pyi" if os.path.exists(os.path.join(FOLDER, f"{name}.pyi")) else None
            functions = functions_of(tree_of(stub or f"{name}.py"))
            self.assertTrue(functions, name)
            for where, node in functions:
                given = [x for x in node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                         if x.arg not in ("self", "cls")]
                lacks = [x.arg for x in given if x.annotation is None]
                self.assertEqual(lacks, [], f"{name}.{where}")
                self.assertIsNotNone(node.returns, f"{name}.{where}")

    def test_stubs_have_the_names_of_the_modules(self):
        for name in COMPILED:
            module, stub = module_of(name), tree_of(f"{name}.pyi")
            listed = {x.name for x in stub.body if isinstance(x, (ast.FunctionDef, ast.ClassDef))}
            listed |= {x.target.id for x in stub.body if isinstance(x, ast.AnnAssign)}
            self.assertEqual(listed, {x for x in vars(module) if not x.startswith("_")})
            for node in stub.body:
                if isinstance(node, ast.ClassDef):
                    members = {x.name for x in node.body if isinstance(x, ast.FunctionDef)}
                    real = {x for x in vars(getattr(module, node.name)) if not x.startswith("_")}
                    if members:  # not those of an enumeration
                        self.assertEqual(members - {"__init__"}, real, f"{name}.{node.name}")

    def test_public_names_have_docstrings(self):
        for name in MODULES:
            module = module_of(name)
            self.assertTrue(module.__doc__, name)
            for public, x in vars(module).items():
                if public.startswith("_") or getattr(x, "__module__", None) != module.__name__:
                    continue
                self.assertTrue(inspect.getdoc(x), f"{name}.{public}")
                for method, inner in vars(x).items() if inspect.isclass(x) else ():
                    if not method.startswith("_") and isinstance(
                            inner, (types.FunctionType, property, classmethod)):
                        self.assertTrue(inspect.getdoc(inner), f"{name}.{public}.{method}")

    def test_stubtest(self):
        """mypy's comparison of the stubs with the modules, and the strict check of the rest."""
        said = subprocess.run([sys.executable, "-m", "mypy", "--version"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        version = re.match(r"mypy (\d+)\.(\d+)", said)
        if not version or tuple(map(int, version.groups())) < (2, 0):
            self.skipTest("mypy 2 or newer is not installed; pip install mypy")
        path = {**os.environ, "MYPYPATH": os.path.dirname(FOLDER)}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "allowed"), "w", encoding="utf-8") as file:
                file.write(ALLOWED)
            for command in (["mypy", "--strict", "-p", "tessera"],
                            ["mypy.stubtest", "--allowlist", "allowed", "--ignore-unused-allowlist",
                             "--ignore-positional-only", "tessera"]):
                done = subprocess.run([sys.executable, "-m", *command], text=True, cwd=folder,
                                      check=False, stdout=subprocess.PIPE, env=path,
                                      stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
