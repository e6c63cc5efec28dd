"""Executes the code cells of the installed notebook in order, as `jupyter execute` does, and checks
its form: ten cells without outputs. With nbclient, where that is installed, also in a kernel."""

import json
import os
import sys
import tempfile
import unittest

from package import ROOT, SKIPPED, tessera  # noqa: F401

NOTEBOOK = os.path.join(ROOT, "apps", "python", "examples", "tessera.ipynb")
os.environ["MPLBACKEND"] = "Agg"
try:
    import h5py  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}; apt-get install python3-h5py python3-matplotlib python3-pandas")
    sys.exit(SKIPPED)


class Notebook(unittest.TestCase):
    def setUp(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            self.notebook = json.load(file)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_form(self):
        self.assertEqual((self.notebook["nbformat"], self.notebook["nbformat_minor"]), (4, 5))
        cells = self.notebook["cells"]
        self.assertEqual(len(cells), 10)
        self.assertEqual(len({cell["id"] for cell in cells}), 10)
        for cell in cells:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
        try:
            import nbformat
        except ImportError:
            return
        nbformat.validate(nbformat.from_dict(self.notebook))

    def test_cells_run_in_order(self):
        names = {"__name__": "__main__"}
        for number, cell in enumerate(self.notebook["cells"]):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        self.assertEqual(list(names["points"]["n"]), [64, 64, 128, 128, 256, 256])
        for figure in (names["figure"], names["axes"][0].figure):
            figure.savefig("picture.png")
            self.assertGreater(os.path.getsize("picture.png"), 5000)

    def test_in_a_kernel(self):
        try:
            import ipykernel  # noqa: F401
            import nbclient
            import nbformat
        except ImportError as missing:
            self.skipTest(f"{missing}; apt-get install python3-nbclient python3-ipykernel")
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        done = nbclient.NotebookClient(notebook, timeout=None).execute()
        printed = done.cells[1].outputs[0]["text"]
        self.assertTrue(printed.startswith(f"tessera {tessera.__version__}"), printed)


if __name__ == "__main__":
    unittest.main()
