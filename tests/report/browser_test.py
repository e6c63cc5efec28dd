"""browser_test.py SCRIPTS TESSERA SCRATCH: a page as Chromium lays it out: nothing exceeds
the screen or the paper, alternative texts, contrast in light and in the dark. Exits with 77
without Chromium."""
import contextlib
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys

import made
from made import row, write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)
if not CHROMIUM:
    print("skipped: Chromium is not installed (apt-get install chromium)")
    sys.exit(77)
made.require("matplotlib")

import report

PAPER = 703  # width of an A4 page between margins of 12 mm, in pixels of 1/96 inch
# Chromium has no window narrower than 500 pixels: pages are laid out in a frame.
FRAME = """<!DOCTYPE html><html><head><meta charset="utf-8">
<meta name="color-scheme" content="light dark"></head><body style="margin:0">
<iframe style="border:0;width:%dpx;height:900px" srcdoc="%s"></iframe><pre></pre><script>
%s
onload = () => { document.querySelector("pre").textContent =
  JSON.stringify(measured(document.querySelector("iframe").contentDocument)); };
</script></body></html>"""
SCRIPT = r"""
function parts(colour) {
  const found = (colour.match(/[\d.]+/g) || []).map(Number);
  return {rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : found.length ? 1 : 0};
}
function luminance(rgb) {
  const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92
                                                                 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
function behind(e) {
  for (; e; e = e.parentElement) {
    const colour = parts(getComputedStyle(e).backgroundColor);
    if (colour.alpha > 0) return colour.rgb;
  }
  return [255, 255, 255];
}
function lines(e) {
  const range = e.ownerDocument.createRange();
  range.selectNodeContents(e);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
}
function measured(doc) {
  const wide = doc.documentElement.clientWidth, out = {wide: wide, beside: [], texts: [],
                                                       drawn: {}, nameless: []};
  out.scroll = doc.documentElement.scrollWidth;
  out.paper = behind(doc.body);
  for (const e of doc.body.querySelectorAll("*")) {
    if (e.closest("svg") && e.tagName != "svg") continue;
    const box = e.getBoundingClientRect(), scrolls = e.closest(".wide, .drawing");
    const clips = scrolls && scrolls != e && getComputedStyle(scrolls).overflowX != "visible";
    if (!clips && box.right > wide + 1) out.beside.push(e.tagName + " " + box.right);
    const own = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
    if (own) out.texts.push([contrast(parts(getComputedStyle(e).color).rgb, behind(e)),
                             e.tagName + ": " + e.textContent.slice(0, 40)]);
  }
  const cells = [...doc.querySelectorAll("td")].filter(e => lines(e) > 1);
  out.broken = cells.filter(e => e.classList.contains("number") && !e.textContent.includes(" "))
    .map(e => e.textContent);
  out.tall = cells.map(e => e.textContent);
  out.scrolled = out.left = 0;
  for (const e of doc.querySelectorAll(".wide")) {
    e.scrollLeft = 9999;
    const first = e.querySelector("td").getBoundingClientRect();
    out.scrolled += e.scrollLeft > 0;
    out.left += first.left < e.getBoundingClientRect().left - 1;
    e.scrollLeft = 0;
  }
  out.pictures = 0;
  for (const e of doc.querySelectorAll("svg, img")) {
    ++out.pictures;
    if (!(e.getAttribute("aria-label") || e.getAttribute("alt") || "").trim())
      out.nameless.push(e.outerHTML.slice(0, 80));
  }
  out.letters = [];
  for (const e of doc.querySelectorAll("figure svg")) {
    const pixels = e.getBoundingClientRect().width / e.viewBox.baseVal.width;
    const sizes = [...e.querySelectorAll("g[transform*=scale]")].map(
      g => 100 * pixels * /scale\(([\d.]+)/.exec(g.getAttribute("transform"))[1]);
    out.letters.push([Math.min(...sizes), e.closest("figure").id]);
  }
  const grid = getComputedStyle(doc.documentElement).getPropertyValue("--grid").trim();
  for (const e of doc.querySelectorAll("svg path, svg use")) {
    if (e.closest("defs, clipPath, pattern")) continue;
    const style = getComputedStyle(e);
    for (const colour of [style.fill, style.stroke].map(parts))
      if (colour.alpha == 1) {
        const figure = e.closest("figure").id;
        out.drawn[colour.rgb] = [contrast(colour.rgb, out.paper), figure];
      }
  }
  out.grid = grid;
  return out;
}
"""


def start(path, *flags):
    """Returns what Chromium prints of a page; skips the test where it does not start."""
    profile = os.path.join(made.SCRATCH, "profile")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                           "--hide-scrollbars", "--disable-dev-shm-usage",
                           "--enable-logging=stderr", f"--user-data-dir={profile}", *flags,
                           f"file://{path}"],
                          capture_output=True, text=True, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    return done


class Browser(made.Case):
    @classmethod
    def setUpClass(cls):
        os.makedirs(made.SCRATCH, exist_ok=True)
        path, traced = (os.path.join(made.SCRATCH, name) for name in ("r.h5", "traced.h5"))
        for old in (path, traced):
            if os.path.exists(old):
                os.remove(old)
        kernels = ("naive", "tiled", "a_kernel_with_a_name_that_is_long")
        write(path, [row(k, n, r, seconds=1e-6 * n ** 2 / r, options={"tile": t})
                     for k in kernels for n in (64, 128, 256) for r in (1, 2, 4)
                     for t in (8, 16)], command_line="tessera matmul " + "--a /a/long/path " * 30)
        write(path, [row("tiled", 64, seconds=[1e-3] * 5, options={"tile": t, "column-width": w})
                     for t in (8, 16, 32) for w in (4, 64)], run="matmul_0002",
              option_title="A study with a map")
        for words in (("matmul", "--n", "12", "--kernel", "naive,tiled", "--diagram", "16"),
                      ("matmul", "--n", "64", "--kernel", "cuda_naive,cuda_column")):
            subprocess.run([made.TESSERA, "locality", *words, "--results", traced], check=True,
                           capture_output=True)
        with contextlib.redirect_stdout(io.StringIO()):
            report.main([path, traced])
        cls.page = os.path.join(made.SCRATCH, "r.html")
        with open(cls.page, encoding="utf-8") as file:
            cls.text = file.read()
        cls.others = {"comparison": cls.page_of("--compare", f"{path}#1", f"{path}#1"),
                      "history": cls.page_of(*cls.days()), "field": cls.page_of(cls.field())}
        trial = start(cls.page, "--dump-dom")
        if "</html>" not in trial.stdout:
            print(f"skipped: Chromium does not start here: {trial.stderr[-300:]}")
            sys.exit(77)
        cls.said = trial.stderr

    @classmethod
    def page_of(cls, *words):
        page = os.path.join(made.SCRATCH, "other.html")
        with contextlib.redirect_stdout(io.StringIO()):
            report.main([*words, "--html", page])
        with open(page, encoding="utf-8") as file:
            return file.read()

    @classmethod
    def days(cls):
        """Returns files of a scaling run on three days, one of which failed its check."""
        files = []
        for day in (1, 2, 3):
            files.append(os.path.join(made.SCRATCH, f"day{day}.h5"))
            if os.path.exists(files[-1]):
                os.remove(files[-1])
            write(files[-1], [row("tiled", 64, r, seconds=[day / r] * 5, verified=int(day < 3))
                              for r in (1, 2, 4)], start_time=f"2026-01-0{day}T10:00:00Z")
        return files

    @classmethod
    def field(cls):
        """Returns a volume with cells without a value."""
        path = os.path.join(made.SCRATCH, "u.h5")
        with made.h5py.File(path, "w") as file:
            values = made.np.arange(6.0 * 20 * 30).reshape(6, 20, 30)
            values[2:4, 5:12, 3:9] = made.np.nan
            file["u"] = values
        return f"{path}:/u"

    def measure(self, width, text=None, dark=False):
        path = os.path.join(made.SCRATCH, "frame.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FRAME % (width, html.escape(text or self.text), SCRIPT))
        done = start(path, "--dump-dom", f"--blink-settings=preferredColorScheme={int(not dark)}")
        found = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
        self.assertTrue(found and found[1], done.stderr[-500:])
        return json.loads(html.unescape(found[1]))

    def test_it_opens_without_an_error(self):
        self.assertEqual([line for line in self.said.splitlines() if "CONSOLE" in line], [])

    def test_nothing_is_beside_the_screen_or_the_paper(self):
        on_paper = self.text.replace("@media print", "@media all")
        self.assertNotEqual(on_paper, self.text)
        for name, width, text in (("desktop", 1280, self.text), ("telephone", 390, self.text),
                                  ("paper", PAPER, on_paper)):
            with self.subTest(name):
                found = self.measure(width, text)
                self.assertEqual(found["wide"], width)
                self.assertEqual(found["beside"], [])
                self.assertLessEqual(found["scroll"], width)
                self.assertEqual(found["broken"], [], "a number on two lines")
                if name == "desktop":
                    self.assertEqual(found["tall"], [], "a cell on two lines")
                if name != "paper":
                    self.assertTrue(found["scrolled"])
                    self.assertEqual(found["left"], 0, "rows without their name")

    def test_what_is_too_wide_is_found(self):
        sticks = self.text.replace("<nav>", '<p style="width: 500px">wide</p><nav>')
        found = self.measure(390, sticks)
        self.assertTrue(found["beside"] and found["scroll"] > 390, found["beside"])
        unbroken = self.text.replace("@media print", "@media all").replace(
            "white-space: normal", "white-space: nowrap")
        self.assertTrue(self.measure(PAPER, unbroken)["beside"])
        parted = self.text.replace("wbr { display: none; }", "").replace("position: sticky", "")
        found = self.measure(1280, parted)
        self.assertTrue(found["tall"] and found["left"])
        torn = self.text.replace("@media print", "@media all").replace(
            ".long { overflow-wrap: anywhere; }",
            "td { overflow-wrap: anywhere; font-size: 30px; }")
        self.assertTrue(self.measure(PAPER, torn)["broken"])

    def test_pages_of_other_kinds(self):
        """Comparison, history and volume fit a desktop and a telephone, have alternative texts, and
        are readable in the dark."""
        for name, text in self.others.items():
            for width, dark in ((1280, False), (390, True)):
                with self.subTest(name, width=width):
                    found = self.measure(width, text, dark)
                    self.assertEqual((found["beside"], found["left"]), ([], 0))
                    self.assertLessEqual(found["scroll"], width)
                    self.assertGreater(found["pictures"], 0)
                    self.assertEqual(found["nameless"], [])
                    self.assertEqual([one for one in found["texts"] if one[0] < 4.5], [])
                    faint = {colour: seen for colour, seen in found["drawn"].items()
                             if seen[0] < 2 and not self.is_quiet(colour, found)}
                    self.assertEqual(faint, {})

    def test_every_picture_has_a_text(self):
        found = self.measure(1280)
        self.assertGreater(found["pictures"], 12)
        self.assertEqual(found["nameless"], [])
        nameless = re.sub(r'aria-label="[^"]*"', 'aria-label=" "', self.text, count=1)
        self.assertEqual(len(self.measure(1280, nameless)["nameless"]), 1)

    def test_all_is_readable_in_light_and_in_the_dark(self):
        """Texts have the 4.5 of WCAG 2.1; what is drawn differs from the paper."""
        papers = []
        for dark in (False, True):
            found = self.measure(1280, dark=dark)
            papers.append(found["paper"])
            self.assertEqual([text for text in found["texts"] if text[0] < 4.5], [])
            faint = {colour: seen for colour, seen in found["drawn"].items()
                     if seen[0] < 2 and not self.is_quiet(colour, found)}
            self.assertEqual(faint, {})
        self.assertEqual(papers[0], [255, 255, 255])
        self.assertLess(max(papers[1]), 64)

    def is_quiet(self, colour, found):
        """Returns whether a colour is that of the grid or the paper, or belongs to a map."""
        grid = found["grid"].lstrip("#")
        grid = "".join(2 * c for c in grid) if len(grid) == 3 else grid
        rgb = [int(v) for v in colour.split(",")]
        return rgb in (found["paper"], [int(grid[i:i + 2], 16) for i in (0, 2, 4)]) \
            or "map" in found["drawn"][colour][1]

    def test_letters_of_pictures_are_readable_on_every_screen(self):
        """A picture that is wider than the screen scrolls inside its figure."""
        pages = [(320, self.text), (390, self.text), (1280, self.text)]
        for width, text in pages + [(390, text) for text in self.others.values()]:
            with self.subTest(width=width):
                found = self.measure(width, text)
                self.assertEqual([one for one in found["letters"] if one[0] < 9.95], [])
                self.assertEqual(found["beside"], [])
                self.assertLessEqual(found["scroll"], width)
        narrow = re.sub(r' style="min-width: \d+px"', "", self.text)
        self.assertTrue([one for one in self.measure(320, narrow)["letters"] if one[0] < 9])

    def test_it_prints(self):
        pdf = os.path.join(made.SCRATCH, "r.pdf")
        start(self.page, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
        with open(pdf, "rb") as file:
            self.assertEqual(file.read(5), b"%PDF-")


if __name__ == "__main__":
    made.main()
