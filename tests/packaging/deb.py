"""Builds the .deb packages of the build tree with cpack and checks them: Deb, their content;
Lintian, Debian's policy, where lintian is installed. Usage: deb.py BUILD_FOLDER LIBDIR CLASS..."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import recipes

PYTHON = "python3-tessera"
OPENMP = "libg?omp"  # of GCC or of clang
SKIPPED = 77  # the exit code that CTest reports as skipped
BUILD, LIBDIR = "", ""


def run(*command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-G", "DEB",
            "-B", cls.folder)
        cls.files = {name.split("_")[0]: os.path.join(cls.folder, name)
                     for name in os.listdir(cls.folder) if name.endswith(".deb")}


def needs_python(test):
    """Skips a test of the Python package in builds without it."""
    def tested(self):
        if PYTHON not in self.files:
            self.skipTest("the build has no Python package of Debian's Python")
        test(self)
    return tested


class Deb(Built):
    def field(self, package, name):
        return run("dpkg-deb", "--field", self.files[package], name).strip()

    def packages_of(self, package, field):
        return {entry.split()[0] for entry in self.field(package, field).split(",")}

    def content(self, package):
        """Returns {path: permissions} of the files in a package."""
        lines = run("dpkg-deb", "--contents", self.files[package]).splitlines()
        found = {line.split(None, 5)[5]: line.split()[0] for line in lines}
        return {path: mode for path, mode in found.items() if not path.endswith("/")}

    def test_names_and_versions(self):
        with open(os.path.join(BUILD, "CPackConfig.cmake"), encoding="utf-8") as file:
            components = re.search('^set\\(CPACK_COMPONENTS_ALL "(.*)"\\)$', file.read(), re.M)
        names = {"program": "tessera", "development": "libtessera-dev", "python": PYTHON}
        self.assertEqual(set(self.files), {names[x] for x in components.group(1).split(";")})
        for package in self.files:
            self.assertEqual(self.field(package, "Version"), recipes.project_version())
            self.assertRegex(self.field(package, "Maintainer"), "^The Tessera developers <.*>$")

    def test_program(self):
        content = self.content("tessera")
        for path in ("bin/tessera", "bin/tessera-examine"):
            self.assertEqual(content.get("./usr/" + path), "-rwxr-xr-x", path)
        for path in ("share/tessera/report/report.py", "share/tessera/configs/matmul/smoke.toml",
                     "share/tessera/jobs/launch.sh", "share/doc/tessera/README.md",
                     "share/doc/tessera/apps/manual/index.md", "share/doc/tessera/copyright",
                     "share/doc/tessera/changelog.gz", "share/man/man1/tessera.1.gz",
                     "share/man/man1/tessera-examine.1.gz", "share/man/man1/tessera-sort.1.gz",
                     "share/bash-completion/completions/tessera",
                     "share/zsh/vendor-completions/_tessera"):
            self.assertEqual(content.get("./usr/" + path), "-rw-r--r--", path)
        for path in content:
            self.assertRegex(path, rf"^\./usr/(bin|share|{LIBDIR}/tessera)/")
            self.assertNotRegex(path, r"\.(a|hpp|cmake|pc|pyc)$")

    def test_library(self):
        content = self.content("libtessera-dev")
        for path in ("include/tessera/tessera.hpp", "include/tessera/dist/matmul.hpp",
                     "include/tessera/tessera.h", "include/tessera/tessera.f90",
                     "share/tessera/examples/kmeans.c", f"{LIBDIR}/pkgconfig/tessera-c.pc",
                     f"{LIBDIR}/libtessera_kernels.a", f"{LIBDIR}/pkgconfig/tessera.pc",
                     f"{LIBDIR}/cmake/Tessera/TesseraConfig.cmake",
                     "share/doc/libtessera-dev/copyright",
                     "share/doc/libtessera-dev/changelog.gz"):
            self.assertEqual(content.get("./usr/" + path), "-rw-r--r--", path)
        self.assertEqual(set(content) & set(self.content("tessera")), set())

    @needs_python
    def test_python(self):
        content = self.content(PYTHON)
        package = "./usr/lib/python3/dist-packages/tessera/"
        for name in ("__init__.py", "__init__.pyi", "py.typed", "results.py", "distributed.py"):
            self.assertEqual(content.get(package + name), "-rw-r--r--", name)
        for path in content:
            self.assertRegex(path, rf"^({package}|\./usr/share/(tessera/examples/\w+\.(py|ipynb)$|"
                                   rf"doc/{PYTHON}/))")
        for other in {"tessera", "libtessera-dev"} & set(self.files):
            self.assertEqual(set(content) & set(self.content(other)), set())
        folder = os.path.join(self.folder, "python")
        run("dpkg-deb", "--extract", self.files[PYTHON], folder)
        path = os.path.join(folder, package)
        code = ("import sys; sys.dont_write_bytecode = True; import tessera; "
                "print(tessera.__version__, tessera.sort([2.0, 1.0]))")
        self.assertEqual(run("env", f"PYTHONPATH={os.path.dirname(os.path.dirname(path))}",
                             "/usr/bin/python3", "-c", code),
                         f"{recipes.project_version()} [1. 2.]\n")
        for module in glob.glob(os.path.join(path, "*.so")):
            self.assertNotIn(".symtab", run("readelf", "--sections", "--wide", module))
            self.assertNotRegex(run("readelf", "--dynamic", module), "RUNPATH|RPATH")

    @needs_python
    def test_python_dependencies(self):
        needed = self.field(PYTHON, "Depends")
        least, below = re.search(r"python3 \(>= 3\.(\d+)\), python3 \(<< 3\.(\d+)\), python3-numpy",
                                 needed).groups()
        self.assertEqual(int(below), int(least) + 1)
        self.assertTrue(any(f"/_kernels.cpython-3{least}-" in path
                            for path in self.content(PYTHON)))
        for library in ("libc6", "libhwloc", "libfmt", OPENMP):
            self.assertRegex(needed, library)
        self.assertNotRegex(needed, "-dev|(^| )tessera")

    def test_dependencies(self):
        needed = self.packages_of("tessera", "Depends")
        for library in ("libc6", "libhwloc", "libfmt", OPENMP, "libhdf5", "libtomlplusplus"):
            self.assertTrue(any(re.match(library, name) for name in needed), (library, needed))
        self.assertFalse(any(name.endswith("-dev") for name in needed), needed)
        self.assertLess(recipes.names("apt", "report"), self.packages_of("tessera", "Recommends"))
        needed = self.packages_of("libtessera-dev", "Depends")
        flavours = re.compile("(libhdf5|lib)-?(openmpi|mpich)?-dev")
        listed = {name for name in recipes.names("apt", "library") if not flavours.match(name)}
        self.assertLessEqual(listed | {"tessera"}, needed)
        self.assertIn(f"tessera (= {recipes.project_version()})",
                      self.field("libtessera-dev", "Depends"))

    def test_installed_program_is_small(self):
        """Below 40 MB, with the code for GPUs of a build with CUDA."""
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
            cache = file.read()
        if "CMAKE_BUILD_TYPE:STRING=Release\n" not in cache:
            self.skipTest("the build is no release")
        self.assertLess(int(self.field("tessera", "Installed-Size")) * 1024, 40e6)

    def test_program_is_stripped_and_has_no_search_path(self):
        folder = os.path.join(self.folder, "content")
        run("dpkg-deb", "--extract", self.files["tessera"], folder)
        for name in ("tessera", "tessera-examine"):
            program = os.path.join(folder, "usr", "bin", name)
            self.assertNotIn(".symtab", run("readelf", "--sections", "--wide", program))
            self.assertNotIn("RUNPATH", run("readelf", "--dynamic", program))
            self.assertNotIn("RPATH", run("readelf", "--dynamic", program))


class Lintian(Built):
    # Of builds whose libraries are not in Debian's folder for the architecture.
    FOLDER = "pkg-config-multi-arch-wrong-dir,pkg-config-unavailable-for-cross-compilation"

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        suppressed = [] if "/" in LIBDIR else ["--suppress-tags", self.FOLDER]
        found = subprocess.run(["lintian", "--allow-root", *suppressed, *self.files.values()],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               check=False).stdout
        self.assertEqual(re.findall("^[EW]: .*", found, re.M), [])


if __name__ == "__main__":
    BUILD, LIBDIR = sys.argv[1:3]
    for tool, package in (("dpkg-shlibdeps", "dpkg-dev"), ("file", "file"), ("cpack", "cmake"),
                          ("readelf", "binutils")):
        if not shutil.which(tool):
            print(f"skipped: {tool} not found; apt-get install {package}")
            sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
