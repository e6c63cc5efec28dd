"""Studies: TOML files with the options of a command and a table [study], which names a figure of
the literature, its printed numbers, and what should hold on any machine."""
import dataclasses
import glob
import os
import re

import formulas

try:
    import tomllib
except ImportError:  # before Python 3.11
    try:
        import tomli as tomllib
    except ImportError:
        tomllib = None

DIRECTIONS = ("rising", "falling", "constant")


class StudyError(ValueError):
    """An error of a study file; the message begins with FILE:LINE."""


@dataclasses.dataclass
class Expectation:
    """One line of a figure: numbers of the results, and what is expected of them."""
    says: str
    table: str                    # of the results
    value: str                    # a column of it, or a formula of columns
    where: dict = dataclasses.field(default_factory=dict)    # {column: value}: selects the rows
    over: dict = dataclasses.field(default_factory=dict)     # those of the denominator
    along: str = ""               # column of the axis: one number for each of its values
    at: list = dataclasses.field(default_factory=list)       # values of the axis; default: all
    total: bool = False           # sums the columns of all selected rows
    power: bool = False           # takes the exponent of the axis instead of the numbers
    printed: object = None        # numbers of the source, one or one per value of the axis
    units: str = ""
    own: bool = False             # the printed numbers belong to the source's machine
    within: float = 0.0           # relative difference allowed to printed numbers and formula
    slack: float = 0.0            # relative difference against the direction that is allowed
    direction: str = ""           # one of DIRECTIONS, along the axis; key "is"
    least: object = None          # bounds: numbers or formulas of the columns
    most: object = None
    formula: object = None        # equal to this within `within`; a list: one for each value
    why: str = ""                 # known reason of a difference to the printed numbers
    line: int = 0                 # in the study file

    @property
    def conditions(self):
        """Returns whether something is expected on every machine."""
        return bool(self.direction) or any(one is not None for one in (
            self.least, self.most, self.formula))


@dataclasses.dataclass
class Study:
    """A study file."""
    path: str
    name: str       # SOURCE/FIGURE, or the path
    title: str      # of its results
    command: str    # words of the command, "locality matmul"
    options: dict   # of the command, without [study]
    figure: str = ""
    machine: str = ""
    seconds: float = 0.0            # on two cores, about
    formula: str = ""               # as the source writes it
    letters: dict = dataclasses.field(default_factory=dict)  # {letter: formula of columns}
    expect: list = dataclasses.field(default_factory=list)

    @property
    def source(self):
        return os.path.dirname(self.name)


def folder():
    """Returns the folder of the studies: installed, or of the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, *up, "configs", "studies") for up in ([".."], ["..", ".."])]
    return next((os.path.normpath(place) for place in places if os.path.isdir(place)), places[0])


def paths():
    """Returns {SOURCE/FIGURE: path} of the studies of this program."""
    found = sorted(glob.glob(os.path.join(folder(), "*", "*.toml")))
    return {os.path.relpath(path, folder()).removesuffix(".toml"): path for path in found}


def is_study(path):
    """Returns whether a parameter file has a table [study]."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return any(re.match(r"\s*\[study\]", line) for line in file)


def lines_of(text):
    """Returns {(number of the expectation, key): line}; number -1: [study] itself, key "": its
    heading."""
    found, number = {}, None
    for at, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[study\.expect\]\]", line):
            number = max((n for n, _ in found), default=-1) + 1
        elif re.match(r"\s*\[study\]", line):
            number = -1
        elif re.match(r"\s*\[", line):
            number = None
        key = re.match(r"\s*([\w-]+)\s*=", line)
        if number is not None:
            found.setdefault((number, key[1] if key else ""), at)
    return found


def read(path, name=""):
    """Returns the study of a file. Raises StudyError, with FILE:LINE, and OSError."""
    if tomllib is None:
        raise StudyError(f"{path}:1: reading it needs Python 3.11 or the module tomli; "
                         f"apt-get install python3-tomli, or set TESSERA_PYTHON")
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column \d+\)", str(error))
        words = re.sub(r" \(at (line .*|end of document)\)", "", str(error))
        line = at[1] if at else len(text.splitlines())
        raise StudyError(f"{path}:{line}: {words}") from None
    if not isinstance(whole.get("study"), dict):
        raise StudyError(f"{path}:1: no table [study]; add one with figure, command and expect")
    return Reader(path, lines_of(text)).study(whole, name or path)


class Reader:
    """Checks the tables of a study file."""

    def __init__(self, path, lines):
        self.path, self.lines = path, lines

    def fail(self, number, key, words):
        line = self.lines.get((number, key)) or self.lines.get((number, "")) or 1
        raise StudyError(f"{self.path}:{line}: {words}")

    def study(self, whole, name):
        table = dict(whole["study"])
        expect = table.pop("expect", [])
        known = {field.name for field in dataclasses.fields(Study)} - {"path", "name", "title",
                                                                       "options", "expect"}
        for key in table:
            if key not in known:
                self.fail(-1, key, f"unknown key '{key}' of [study]; the keys are "
                                   f"{', '.join(sorted(known))}, expect")
        for key in ("command", "figure", "machine"):
            if not isinstance(table.get(key), str):
                self.fail(-1, key, f"[study] requires {key} = \"...\"")
        if not isinstance(whole.get("title"), str):
            self.fail(-1, "", "the options of a study require title = \"...\"")
        if not isinstance(table.get("letters", {}), dict):
            self.fail(-1, "letters", "letters is a table of formulas: { L = \"line_bytes / 8\" }")
        if not isinstance(expect, list) or not expect:
            self.fail(-1, "expect", "[study] requires an expectation, [[study.expect]]")
        options = {key: value for key, value in whole.items() if key != "study"}
        found = Study(self.path, name, whole["title"], options=options, **table)
        found.letters = {letter: self.formula(-1, "letters", text)
                         for letter, text in found.letters.items()}
        found.expect = [self.expectation(number, one) for number, one in enumerate(expect)]
        return found

    def formula(self, number, key, text):
        if isinstance(text, bool) or not isinstance(text, (int, float, str)):
            self.fail(number, key, f"{key} is a number or a formula")
        try:
            return formulas.Formula(text)
        except formulas.FormulaError as error:
            return self.fail(number, key, f"{key}: {error}")

    def expectation(self, number, table):
        names = {field.name for field in dataclasses.fields(Expectation)} - {"line", "direction"}
        for key in table:
            if key not in names | {"is"}:
                self.fail(number, key, f"unknown key '{key}' of [[study.expect]]; the keys are "
                                       f"{', '.join(sorted(names | {'is'}))}")
        for key in ("says", "table", "value"):
            if not isinstance(table.get(key), str):
                self.fail(number, key, f"[[study.expect]] requires {key} = \"...\"")
        table = dict(table)
        direction = table.pop("is", "")
        if direction and direction not in DIRECTIONS:
            self.fail(number, "is", f"is = '{direction}' is unknown; it is one of "
                                    f"{', '.join(DIRECTIONS)}")
        one = Expectation(**table, direction=direction,
                          line=self.lines.get((number, ""), 1))
        self.check(number, one)
        one.value = self.formula(number, "value", one.value)
        for key in ("least", "most", "formula"):
            text = getattr(one, key)
            if isinstance(text, list) and key == "formula":
                one.formula = [self.formula(number, key, part) for part in text]
            elif text is not None:
                setattr(one, key, self.formula(number, key, text))
        return one

    def check(self, number, one):
        """Checks what goes together."""
        for key, kind in (("where", dict), ("over", dict), ("at", list), ("along", str)):
            if not isinstance(getattr(one, key), kind):
                self.fail(number, key, f"{key} is not a {kind.__name__}")
        for key in ("within", "slack"):
            if isinstance(getattr(one, key), bool) or not isinstance(getattr(one, key),
                                                                     (int, float)):
                self.fail(number, key, f"{key} is not a number")
        numbers = one.printed if isinstance(one.printed, list) else [one.printed]
        if one.printed is not None and not all(type(value) in (int, float) for value in numbers):
            self.fail(number, "printed", "printed is a number or a list of numbers")
        if one.printed is None and not one.conditions:
            self.fail(number, "", "nothing is expected: add printed, is, least, most or formula")
        if one.own and not one.conditions:
            self.fail(number, "own", "own numbers hold on one machine only: add what should hold "
                                     "on any, with is, least, most or formula")
        if (one.direction or one.power or one.at) and not one.along:
            self.fail(number, "along", "is, at and power require along, the column of the axis")
        if isinstance(one.formula, list) and not one.at:
            self.fail(number, "formula", "a list of formulas requires at, the values of the axis")
        if one.at and isinstance(one.printed, list) and not one.power \
                and len(one.at) != len(one.printed):
            self.fail(number, "printed", f"printed has {len(one.printed)} numbers, at "
                                         f"{len(one.at)}")
