"""report.py RESULTS.h5[#RUN]|FILE.h5:/PATH... [--html FILE] [--png FOLDER] [--text] [--compare]
[--tolerance X]: contents of results files as a page, pictures and tables, pictures of numeric
datasets, and the comparison of two results files.

Requires Python 3 with h5py and numpy, and matplotlib unless --text. `tessera report` calls it."""
import argparse
import os

import analyse
import answer
import atlas
import compare
import comparison
import energy
import field
import gpu_order
import heatmap
import hierarchy
import history
import kinds
import locality
import microscope
import on_paper
import page
import phases
import pick
import rates
import results
import roofline
import scaling
import speedup
import tables
import timeline
import verdicts

TOLERANCE = 0.05  # of compare, too
IN_PAGE = ("kernel", "probe")  # columns of a page, also where all points agree


def read(words):
    """Returns the runs, the traced points, the simulated GPU points, those on paper, the
    fork-join studies, the atlases and the profiles of all files, or of a run of a file."""
    runs, traced, ordered, papers, studies, atlases, profiles = [], [], [], [], [], [], []
    for word in words:
        path, name = pick.split_run(word)
        found = pick.read(path, results.read, lambda path: locality.whole(locality.read(path)),
                          gpu_order.read, on_paper.read, microscope.read, atlas.read, analyse.read)
        mine = [run for run in found[0] if name in ("", run.name)]
        points, on_gpu, paper, forks, charts, samples = (
            [one for one in part if name in ("", one.run)] for part in found[1:])
        if not any((mine, points, on_gpu, paper, forks, charts, samples)):
            pick.fail(65, f"'{word}' holds no finished point; measure something with --results "
                          f"{path}")
        runs += mine
        traced += points
        ordered += on_gpu
        papers += paper
        studies += forks
        atlases += charts
        profiles += samples
    return runs, traced, ordered, papers, studies, atlases, profiles


class Section:
    """Section of the page under one title: a study, or the untitled results of one workload."""

    def __init__(self, title, tolerance):
        self.title, self.tolerance = title, tolerance
        self.runs, self.merged, self.traced, self.ordered, self.fields = [], [], [], [], []
        self.papers, self.studies, self.atlases, self.profiles = [], [], [], []
        self.every_traced = []  # of all sections: their traffic
        self.study = None       # (study, outcomes) of a figure of the literature

    def pictures(self):
        for run in self.merged:
            mine = [*speedup.pictures(run.scalability)] if run.scalability else \
                [*rates.variants(run), *rates.lines(run), *scaling.pictures(run),
                 *heatmap.maps(run), *hierarchy.pictures(run, self.every_traced),
                 *roofline.pictures(run),
                 *phases.by_variant(run), *phases.by_rank(run), *timeline.pictures(run)]
            for one in mine:
                yield one, run.workload
        yield from history.pictures(self.runs, self.tolerance)
        for one in (*locality.pictures(self.traced), *kinds.pictures(self.traced),
                    *gpu_order.pictures(self.ordered), *on_paper.pictures(self.papers)):
            yield one, "locality"
        for one in microscope.pictures(self.studies):
            yield one, "forkjoin"
        for one in atlas.pictures(self.atlases):
            yield one, "machine"
        for one in analyse.pictures(self.profiles):
            yield one, "analyse"
        for mine in self.fields:
            for one in field.pictures(mine):
                yield one, self.title

    def tables(self, always=tables.ALWAYS):
        """Yields (heading, rows of texts) of every table. The one of all points has the columns
        `always` even where all points agree."""
        if self.study:
            study, outcomes = self.study
            figure = f"{study.figure} ({study.machine})".replace("; ", ", ")
            yield f"verdicts: {figure}: {verdicts.verdict_of(outcomes)}", verdicts.table(outcomes)
        for run in self.merged:
            medians = tables.side_by_side(run.points)
            if medians and not run.scalability:
                yield f"{run.workload}: medians side by side", medians
            if run.scalability:
                yield f"{run.workload}: bounds and measured speed-ups", speedup.table(
                    run.scalability)
            else:
                same = tables.fixed(run.points, always)
                yield f"{run.workload}: all points{f'; everywhere {same}' if same else ''}", \
                    tables.summary(run.points, run.rate_units, always)
            for heading, rows in ((f"{run.workload}: scaling", scaling.table(run)),
                                  (f"{run.workload}: roofline of traced traffic",
                                   hierarchy.table(run, self.every_traced)),
                                  (f"{run.workload}: energy of a repetition",
                                   energy.table(run.points, run.rate_units)),
                                  (f"{run.workload}: imbalance, the slowest rank over the mean",
                                   phases.table(run.points))):
                if rows and not run.scalability:
                    yield heading, rows
            for name, found in run.misses.items():
                if rows := tables.misses(run.points, found):
                    yield f"{run.workload}: {results.MISSES[name]}", rows
        yield from history.table(self.runs, self.tolerance)
        if self.traced:
            yield "locality: traced points", locality.table(self.traced)
        if self.ordered:
            yield "locality: in the order of a GPU's threads", gpu_order.table(self.ordered)
        yield from on_paper.tables(self.papers)
        yield from microscope.tables(self.studies)
        yield from atlas.tables(self.atlases)
        yield from analyse.tables(self.profiles)


def last_of(points):
    """Returns the points, one per label: points that differ only in options that their kernel does
    not use are the same."""
    return list({point.label: point for point in points}.values())


def latest(points):
    """Returns the points, one per title and key: that of the last file."""
    return {(point.title, point.key): point for point in points}.values()


def sections_of(runs, traced, ordered, papers, studies, atlases, profiles, fields,
                tolerance=TOLERANCE):
    found = {}

    def of(title):
        return found.setdefault(title, Section(title, tolerance))
    for (title, _), run in results.by_workload(runs).items():
        of(title).merged.append(run)
    for run in runs:
        of(run.title).runs.append(run)
    for point in latest(traced):
        of(point.title).traced.append(point)
    for point in latest(ordered):
        of(point.title).ordered.append(point)
    for point in latest(papers):
        of(point.title).papers.append(point)
    for study in latest(studies):
        of(study.title).studies.append(study)
    for one in atlases:
        of(one.title).atlases.append(one)
    for one in profiles:
        of(one.title).profiles.append(one)
    for one in fields:
        of(one.title).fields.append(one)
    for section in found.values():
        section.traced = last_of(locality.disambiguate(section.traced))
        section.ordered = last_of(locality.disambiguate(section.ordered))
        section.every_traced = traced
    return list(found.values())


def print_tables(runs, sections):
    for run in runs:
        run.points = results.disambiguate(run.points)
        print(tables.text(run))
        if run.scalability:
            print(speedup.text(run.scalability))
    for section in sections:
        if section.study:
            print(verdicts.text(*section.study))
        for heading, rows in section.tables():
            answer.add_table(heading, rows)
            if not any(part in heading for part in ("all points", "bounds and", "verdicts:")):
                print(f"{heading}\n{tables.fitted(rows)}")


def print_pictures(sections):
    for section in sections:
        for one, _ in section.pictures():
            if one.text:
                print(f"{one.title}\n{one.text()}")


def provenance(section):
    rows = [["run", "file", "when", "hosts", "processor", "version", "command"]]
    for run in section.runs:
        a = run.attributes
        rows.append([run.name, run.file, a.get("start_time", ""), a.get("hosts", ""),
                     a.get("processor", ""),
                     f"{a.get('git_describe', '')} ({a.get('build_type', '')})",
                     a.get("command_line", "")])
    return rows


def clear(folder):
    """Removes the pictures of an earlier page from its own folder."""
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.endswith(".png"):
            os.remove(os.path.join(folder, name))


def load_style():
    """Imports the drawing module; only pages need it: tables and text plots work without
    matplotlib."""
    try:
        import style
        return style
    except Exception as error:  # a foreign package may raise anything
        pick.fail(64, f"matplotlib cannot be loaded ({type(error).__name__}: {error}); repair it "
                      f"or use --text")


def write_page(sections, title, html, folder, is_own):
    """Draws every picture into the folder and all of them into the page. Removes the pictures of an
    earlier page if the folder is the page's own (is_own). Returns the files written, the page
    first."""
    style = load_style()
    parts, names, files = [], set(), []
    for section in sections:
        drawn = []
        for one, workload in section.pictures():
            stem = f"{page.identity(section.title)}_{one.name}" if section.title == workload else \
                f"{page.identity(section.title)}_{workload}_{one.name}"
            one.name = next(n for n in [stem] + [f"{stem}_{i}" for i in range(2, 1000)]
                            if n not in names)
            names.add(one.name)
            figure = style.figure_of(one)
            files.append((os.path.join(folder, one.name + ".png"), style.png_of(figure)))
            if one.in_page:
                drawn.append((one, style.svg_of(figure, one.name)))
        folded = [page.folded(heading, rows) for heading, rows in section.tables(IN_PAGE)]
        above = 1 if section.study else 0  # the verdicts
        text = "".join(folded[:above]) + page.pictures(drawn) + "".join(folded[above:])
        parts.append((section.title, text + (page.folded("runs", provenance(section), 8)
                                             if section.runs else "")))
    if is_own:
        clear(folder)
    os.makedirs(folder, exist_ok=True)
    for path, png in files:
        pick.write_whole(path, png)
    # replaces what is not UTF-8, file names included
    pick.write_whole(html, page.document(title, head(sections), parts).encode("utf-8", "replace"))
    return [html, *(path for path, _ in files)]


def title_of(sections):
    names = [section.title for section in sections]
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return "Tessera: " + ", ".join(names[:4] if more else names) + more


def head(sections):
    runs = [run for section in sections for run in section.runs]
    wrong = sum(point.measured["verified"] == 0 for run in runs for point in run.points)
    machines = dict.fromkeys(f"{run.attributes.get('hosts', '')}: "
                             f"{run.attributes.get('processor', '')}" for run in runs)
    lines = ["; ".join(machines)] if machines else []
    traced = sum(len(section.traced) + len(section.ordered) for section in sections
                 if isinstance(section, Section))
    lines += [comparison.head(section) for section in sections if not isinstance(section, Section)]
    if runs:
        lines.append(f"{many(sum(len(run.points) for run in runs), 'point')} in "
                     f"{many(len(runs), 'run')}"
                     + ("" if wrong else "; every check passed or was disabled"))
    if traced:
        lines.append(many(traced, "traced point"))
    papers = sum(len(section.papers) for section in sections if isinstance(section, Section))
    if papers:
        lines.append(f"{many(papers, 'point')} on paper")
    studies = sum(len(section.studies) for section in sections if isinstance(section, Section))
    if studies:
        lines.append(many(studies, "fork-join computation"))
    lines += [f"{one.host}: {one.processor}" for section in sections
              if isinstance(section, Section) for one in section.atlases]
    failed = f'<p class="wrong">{many(wrong, "point")} FAILED the check</p>' if wrong else ""
    return "".join(f'<p class="quiet">{page.escape(line)}</p>' for line in lines) + failed


def many(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def everything(arguments):
    """Prints the tables of all files; returns the sections of the page."""
    fields = [field.read(word) for word in arguments.files if field.split(word)]
    found = read([word for word in arguments.files if not field.split(word)])
    sections = sections_of(*found, fields, arguments.tolerance)
    studies = verdicts.of_files(dict.fromkeys(pick.split(word)[0] for word in arguments.files
                                              if not field.split(word)))
    for section in sections:
        section.study = studies.get(section.title)
    print_tables(found[0], sections)
    return sections


def compared(arguments):
    """Prints the comparison of two files; returns the section of the page."""
    compare.compare_files(arguments.files, arguments.tolerance)
    return [comparison.Comparison(arguments.files, arguments.tolerance)]


@pick.command
def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera report",
                                     description="A page, pictures and tables of results files, "
                                                 "and pictures of datasets.")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--html", help="the page (default: next to the first file, .html)")
    parser.add_argument(
        "--png", help="folder for the pictures (default: next to the page, NAME_png)")
    parser.add_argument("--title", help="title of the page")
    parser.add_argument("--compare", action="store_true", help="compare two results files")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    parser.add_argument("--text", action="store_true",
                        help="print tables and plots as text, write no files")
    arguments = parser.parse_args(words)
    for name in ("html", "png"):
        if arguments.text and getattr(arguments, name):
            pick.fail(64, f"--text conflicts with --{name}: it writes no files; drop one of the "
                          f"two")
    sections = compared(arguments) if arguments.compare else everything(arguments)
    if arguments.text:
        print_pictures(sections)
        return
    first = (field.split(arguments.files[0]) or pick.split(arguments.files[0]))[0]
    html = arguments.html or os.path.splitext(first)[0] + ".html"
    folder = arguments.png or os.path.splitext(html)[0] + "_png"
    try:
        files = write_page(sections, arguments.title or title_of(sections), html, folder,
                           not arguments.png)
    except OSError as error:
        pick.fail(73, f"'{error.filename or html}' cannot be written ({error.strerror}); name "
                      f"other places with --html and --png")
    answer.put("files", files)
    count = len(files) - 1
    print(f"page: {html}\n{many(count, 'picture')}: {folder}")


if __name__ == "__main__":
    pick.end_with_the_pipe()
    main()
