"""The recipes in jobs/packaging name the version of the project and the packages that
jobs/packages.txt lists, no others. Usage: recipes.py [UNITTEST ARGUMENT...]"""

import contextlib
import os
import re
import sys
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGING = os.path.join(ROOT, "jobs", "packaging")
COLUMNS = ("need", "role", "apt", "dnf", "spack", "conda", "easybuild")
BUILD, LINK, REPORT = ("tool", "header"), ("library",), ("report",)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def table():
    """Returns the rows of packages.txt as dictionaries."""
    rows = [line.split() for line in read("jobs", "packages.txt").split("\n")
            if line and not line.startswith("#")]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def names(column, *roles):
    """Returns the names of a column for the roles, without those that it does not have."""
    return {row[column] for row in table() if row["role"] in roles} - {"-"}


def project_version():
    header = read("src/base/version.hpp")
    return ".".join(re.search(rf"^#define TESSERA_VERSION_{part} (\d+)$", header, re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def spack_recipe():
    """Runs package.py with recording directives: ({name: [(spec, type, conditions)]}, versions)."""
    found, versions, conditions = {}, [], []

    def depends_on(spec, type=("build", "link"), when=None):
        name = re.match(r"[\w-]+", spec).group()
        kinds = (type,) if isinstance(type, str) else tuple(type)
        found.setdefault(name, []).append((spec, kinds, conditions + ([when] if when else [])))

    @contextlib.contextmanager
    def when(condition):
        conditions.append(condition)
        yield
        conditions.pop()

    package = types.ModuleType("spack.package")
    ignored = {name: lambda *args, **options: None
               for name in ("license", "variant", "conflicts", "extends")}
    vars(package).update(ignored, depends_on=depends_on, when=when, version=versions.append)
    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    for name in ("", ".builtin", ".builtin.build_systems"):
        modules["spack_repo" + name] = types.ModuleType("spack_repo" + name)
    for name, base in (("cmake", "CMakePackage"), ("cuda", "CudaPackage")):
        full = "spack_repo.builtin.build_systems." + name
        modules[full] = types.ModuleType(full)
        setattr(modules[full], base, type(base, (), {}))
    modules["spack_repo.builtin.build_systems.cmake"].generator = lambda *names: None
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        path = os.path.join(PACKAGING, "spack", "spack_repo", "tessera", "packages", "tessera",
                            "package.py")
        exec(compile(read(path), path, "exec"), {})
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return found, versions


def conda_requirements():
    """Returns {section: [name]} of recipe.yaml's requirements; compilers are cxx-compiler."""
    text = read("jobs", "packaging", "conda", "recipe.yaml")
    block = re.search(r"^requirements:\n((?:  .*\n)+)", text, re.M).group(1)
    sections = {}
    for line in block.split("\n"):
        if head := re.fullmatch(r"  (\w+):", line):
            section = sections.setdefault(head.group(1), [])
        elif entry := re.fullmatch(r"    - (.+)", line):
            words = entry.group(1)
            if 'compiler("cxx")' in words:
                section.append("cxx-compiler")
            elif not words.startswith("$"):
                section.append(words.split()[0])
    return sections


class Table(unittest.TestCase):
    def test_every_need_is_listed_once_with_a_name_in_debian(self):
        needs = [row["need"] for row in table()]
        self.assertEqual(len(needs), len(set(needs)))
        self.assertNotIn("-", [row["apt"] for row in table()])

    def test_cmake_finds_what_the_table_names(self):
        text = read("cmake", "TesseraDependencies.cmake")
        found = set(re.findall(r"tessera_find\((\S+)", text))
        found |= set(re.findall(r"tessera_lacks (\S+)\)", text))
        self.assertLessEqual(found, {row["need"] for row in table()})
        libraries = {row["need"] for row in table() if row["role"] in ("library", "header")}
        self.assertEqual(libraries - found, {"libdeflate"}, "libdeflate is optional")


class Spack(unittest.TestCase):
    # virtual packages, which several packages provide
    VIRTUAL = {"c": "gcc", "cxx": "gcc", "mpi": "openmpi", "pkgconfig": "pkgconf"}

    def test_version(self):
        self.assertEqual(spack_recipe()[1], [project_version()])

    def test_dependencies(self):
        found, _ = spack_recipe()
        real = {self.VIRTUAL.get(name, name) for name in found}
        self.assertEqual(real - {"cuda", "googletest", "py-mpi4py"},
                         names("spack", *BUILD, *LINK, *REPORT, "python"))

    def test_kinds_of_dependencies(self):
        found, _ = spack_recipe()
        for name, uses in found.items():
            kinds, role = uses[0][1], self.VIRTUAL.get(name, name)
            if role in names("spack", "tool"):
                self.assertEqual(kinds, ("build",), name)
            elif role in names("spack", *LINK):
                self.assertIn("link", kinds, name)
            elif role in names("spack", *REPORT):
                self.assertEqual(kinds, ("run",), name)

    def test_kernels_alone_need_neither_mpi_nor_files(self):
        found, _ = spack_recipe()
        always = {name for name, uses in found.items() if any(not use[2] for use in uses)}
        self.assertEqual(always, {"c", "cxx", "cmake", "ninja", "pkgconfig", "googletest", "hwloc",
                                  "fmt"})


class EasyBuild(unittest.TestCase):
    def recipe(self):
        folder = os.path.join(PACKAGING, "easybuild")
        (file,) = [name for name in os.listdir(folder) if name.endswith(".eb")]
        values = {}
        exec(compile(read(folder, file), file, "exec"), {}, values)
        return file, values

    def test_version(self):
        file, values = self.recipe()
        chain = values["toolchain"]
        self.assertEqual(values["version"], project_version())
        self.assertEqual(file, "{}-{}-{}-{}.eb".format(values["name"], values["version"],
                                                       chain["name"], chain["version"]))

    def test_dependencies(self):
        _, values = self.recipe()
        found = {entry[0] for entry in values["builddependencies"] + values["dependencies"]}
        self.assertEqual(found - {"Python"}, names("easybuild", *BUILD, *LINK, *REPORT))
        built = {entry[0] for entry in values["builddependencies"]}
        self.assertLessEqual(built, names("easybuild", *BUILD))


class Conda(unittest.TestCase):
    def test_version(self):
        text = read("jobs", "packaging", "conda", "recipe.yaml")
        self.assertIn(f'  version: "{project_version()}"\n', text)

    def test_dependencies(self):
        found = conda_requirements()
        self.assertEqual(set(found["build"]), names("conda", "tool"))
        self.assertEqual(set(found["host"]), names("conda", "header", *LINK))
        self.assertEqual(set(found["run"]), names("conda", "run", *REPORT))


class Options(unittest.TestCase):
    def test_what_is_built_does_not_depend_on_what_is_found(self):
        (easybuild,) = os.listdir(os.path.join(PACKAGING, "easybuild"))
        for path in (("spack", "spack_repo", "tessera", "packages", "tessera", "package.py"),
                     ("easybuild", easybuild), ("conda", "recipe.yaml")):
            text = read("jobs", "packaging", *path)
            for option in ("TESSERA_CUDA", "TESSERA_PYTHON_PACKAGE", "TESSERA_TESTS"):
                self.assertIn(option, text, path)


class Images(unittest.TestCase):
    def test_both_run_the_same_steps(self):
        for file in ("Containerfile", "apptainer.def"):
            text = read("jobs", "packaging", file)
            self.assertIn("bash /usr/src/tessera/jobs/packaging/image.sh", text)
            self.assertRegex(text, r"(?i)from:? debian:bookworm\n")


if __name__ == "__main__":
    unittest.main()
