"""Rows of results files, each with the options and the configuration of its point."""
import h5py

import results

BASES = ("summary", "points", "forkjoin", "paper")  # tables with the configuration of a point


class Tables:
    """Tables of a results file, read when they are asked for."""

    def __init__(self, path, title=""):
        self.path, self.title, self.known, self.caches = path, title, {}, {}
        with h5py.File(path, "r") as file:
            for group in self.runs(file):
                self.caches = results.caches_of(dict(group.attrs)) or self.caches

    def runs(self, file):
        """Returns the groups of the runs with this title, in order; all if it is empty."""
        return [group for _, group in results.groups_of(file)
                if self.title in ("", str(group.attrs.get("option_title", "")))]

    def rows(self, name):
        """Returns the rows of a table as dicts: options of their point, its configuration, the
        columns; the latest rows of each point."""
        if name not in self.known:
            latest = {}
            with h5py.File(self.path, "r") as file:
                for group in self.runs(file):
                    for row in rows_of(group, name):
                        key = row.get("point", "")
                        mine = latest.setdefault(key, {})
                        if key and group.name not in mine:
                            mine.clear()  # measured again
                        mine.setdefault(group.name, []).append(row)
            self.known[name] = [row for runs in latest.values() for rows in runs.values()
                                for row in rows]
        return self.known[name]


def rows_of(group, name):
    """Returns the rows of a table of a run, each with the options and the configuration of its
    point."""
    base = {}
    for table in BASES:
        if isinstance(group.get(table), h5py.Group):
            for row in results.rows_of(group[table]):
                base.setdefault(row.get("point"), row)
    if not isinstance(group.get(name), h5py.Group):
        return []
    found = []
    for row in results.rows_of(group[name]):
        options = {option.replace("-", "_"): results.value_of(text)
                   for option, text in results.options_of(row.get("point", "")).items()}
        found.append({**options, **base.get(row.get("point"), {}), **row})
    return found


def step(rows, sizes):
    """Returns the rows of a miss curve at a size of the cache: a curve keeps the sizes at which the
    misses change, so those of the next smaller one."""
    best = {}
    for row in rows:
        if all(float(row[name]) <= size for name, size in sizes.items()):
            before = best.get(row["point"])
            if before is None or row["lines"] > before["lines"]:
                best[row["point"]] = row
    return [{**row, **sizes} for row in best.values()]
