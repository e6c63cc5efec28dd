"""configs/studies: every study runs by its own command (at small sizes), and the report lists it
under its title."""

import glob
import html
import os
import re
import shlex
import sys

import tessera
from tessera import OK

FOLDER = os.path.join(tessera.ROOT, "configs", "studies")
# A few seconds for all of them. Options given as flags override the study's own.
SMALL = {"matmul": ("--m", 24, "--n", 24, "--k", 24), "transpose": ("--n", 50),
         "sort": ("--n", 1000),
         "stencil": ("--shape", "40x40", "--steps", 2),
         "scalability": ("--n", 12, "--recordings", 1),
         "memory": ("--size", "64KiB", "--rounds", 4)}
QUICK = ("--repetitions", 1, "--warmups", 0, "--threads", 1)


class Studies(tessera.Case):
    def test_every_study_says_its_command_and_title_and_runs(self):
        paths = sorted(glob.glob(os.path.join(FOLDER, "*.toml")))
        self.assertGreater(len(paths), 20)
        titles, path = [], self.path("all.h5")
        for study in paths:
            with self.subTest(os.path.basename(study)):
                with open(study, encoding="utf-8") as file:
                    text = file.read()
                lines = re.search(r"^#   (tessera .*(?:\\\n#     .*)?)\n#   tessera report r\.h5$",
                                  text, re.M)[1]
                command = shlex.split(lines.replace("\\\n#", ""))
                self.assertEqual(command[command.index("--config") + 1],
                                 f"configs/studies/{os.path.basename(study)}")
                self.assertEqual(command[-2:], ["--results", "r.h5"])
                command[command.index("--config") + 1] = study
                words = command[1:-2] + list(SMALL[command[1]]) + list(QUICK) + ["--results", path]
                result = self.run_tessera(*words)
                if "cuda" in study and result.code != OK:
                    # known, but unavailable here
                    self.assertRegex(result.errors[0], "needs a GPU")
                    continue
                self.assertEqual(result.code, OK, str(result))
                titles.append(re.search(r'^title = "(.*)"$', text, re.M)[1])
        self.assertEqual(len(titles), len(set(titles)))
        self.succeed("report", path, environment={"TESSERA_PYTHON": sys.executable})
        with open(self.path("all.html"), encoding="utf-8") as file:
            heads = [html.unescape(head) for head in re.findall(r"<h2[^>]*>(.*?)</h2>",
                                                                file.read())]
        self.assertEqual(set(heads), set(titles))


if __name__ == "__main__":
    tessera.main()
