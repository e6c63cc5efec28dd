"""The course of the manual: twelve lessons of one form, whose facts hold on any machine. Their
commands run as those of every page (manual.py), to the digit; studies state what must hold."""

import os
import re
import shlex
import sys

import pages
import tessera
from tessera import OK, ROOT

sys.path.insert(0, os.path.join(ROOT, "apps", "report"))
import figures  # noqa: E402

MANUAL = os.path.join(ROOT, "apps", "manual")
PAGES = ("course_caches", "course_machines", "course_parallel")
PARTS = ("**What to see.**", "**Formula.**", "**Exercise.**", "<details>", "</details>")
PICTURES = 60_000  # bytes of each
MATRIX = 4096 * 4096 * 8 / 2**20  # MiB of lesson 12


def lessons():
    """Returns (number, question, text) of the lessons in the order of the pages."""
    found = []
    for page in PAGES:
        with open(os.path.join(MANUAL, f"{page}.md"), encoding="utf-8") as file:
            parts = re.split(r"^## (\d+)\. (.*)$", file.read(), flags=re.M)
        found += [(int(n), q, text) for n, q, text in zip(parts[1::3], parts[2::3], parts[3::3])]
    return found


def commands(text):
    """Returns the commands of a text as words, without continuations and what follows a pipe."""
    blocks = [block for block in pages.blocks(text) if block.kind == "console"]
    lines = [command.text.replace("\\\n", " ").split("|")[0]
             for block in blocks for command in pages.session(block)]
    return [shlex.split(line) for line in lines if line.startswith("tessera ")]


def options(words):
    """Returns {option: value} of a command line, but for its results file."""
    named = {word[2:]: value for word, value in zip(words, words[1:]) if word.startswith("--")}
    named.pop("results", None)
    return named


def written(value):
    """Returns a value of a study as a flag has it."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


class Course(tessera.Case):
    def test_lessons_have_one_form(self):
        found = lessons()
        self.assertEqual([number for number, _, _ in found], list(range(1, 13)))
        for number, question, text in found:
            with self.subTest(number):
                self.assertTrue(question.endswith("?"), question)
                places = [text.index(part) for part in PARTS]
                self.assertEqual(places, sorted(places))
                formula = text[places[1]:]
                self.assertRegex(formula, r"\b(19|20)\d\d\b")  # the year of a source
                pictures = re.findall(r"^!\[[^\]]{20,}\]\(([\w.]+)\)$", text, re.M)
                self.assertEqual(len(pictures), 1)
                size = os.path.getsize(os.path.join(MANUAL, pictures[0]))
                self.assertLess(size, PICTURES, pictures[0])
                answer = text[places[3]:places[4]]
                self.assertTrue(any(block.counted and command.shown
                                    for block in pages.blocks(answer)
                                    for command in pages.session(block)), "no counted answer")
                shown = [command.text for block in pages.blocks(text[:places[0]])
                         if block.counted for command in pages.session(block)]
                self.assertTrue(any("tessera " in words for words in shown), "no counted command")

    def test_the_overview_links_every_lesson(self):
        with open(os.path.join(MANUAL, "course.md"), encoding="utf-8") as file:
            text = file.read()
        rows = re.findall(r"^\| \[(\d+)\] \| (.*?) \| \d+ \|$", text, re.M)
        self.assertEqual([(int(n), q) for n, q in rows], [(n, q) for n, q, _ in lessons()])
        self.assertEqual(re.findall(r"^\[(\d+)\]: \w+\.md#\1-", text, re.M), [n for n, _ in rows])

    def test_studies_have_the_commands_of_the_lessons(self):
        shown = [words for _, _, text in lessons() for words in commands(text)]
        mine = {name: path for name, path in figures.paths().items()
                if name.startswith("course/")}
        self.assertEqual(len(mine), 11)  # lesson 12 has plans of ranks
        for name, path in mine.items():
            study = figures.read(path, name)
            wanted = {key: written(value) for key, value in study.options.items()
                      if key != "title"}
            at = len(study.command.split()) + 1
            self.assertIn((study.command.split(), wanted),
                          [(words[1:at], options(words)) for words in shown], name)

    def received(self, *words):
        """Returns MiB that a rank receives, on average or at most, by the plan."""
        result = self.run_tessera(*words, "--plan", environment={"COLUMNS": "200"})
        self.assertEqual(result.code, OK, str(result))
        return float(re.search(r"receives (?:at most )?(\S+) MiB", result.out)[1])

    def test_exchange_of_ranks_follows_its_formulas(self):
        for ranks in (4, 16, 64):
            with self.subTest(ranks):
                of = ("--n", 4096, "--ranks", ranks)
                self.assertAlmostEqual(self.received("transpose", *of),
                                       MATRIX / ranks * (1 - 1 / ranks), delta=0.01)
                summa = self.received("matmul", *of, "--algorithm", "summa")
                halving = self.received("matmul", *of, "--algorithm", "recursive")
                own = 3 * MATRIX / ranks
                self.assertLess(halving, summa)
                self.assertGreater(halving, 3 * MATRIX / ranks ** (2 / 3) - own)


if __name__ == "__main__":
    tessera.main()
