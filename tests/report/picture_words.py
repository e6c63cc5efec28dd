"""Texts of drawn pictures, and where they touch."""
from matplotlib.backends.backend_agg import FigureCanvasAgg


def words_of(figure):
    """Returns (text, box) of all text in a drawn figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    found = [figure._suptitle]
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            span = 1e-9 * (high - low)
            for tick in axis.get_major_ticks():
                if low - span <= tick.get_loc() <= high + span:
                    found += [label for label in (tick.label1, tick.label2) if label.get_visible()]
            found.append(axis.label)
        found += axes.texts + (axes.get_legend().get_texts() if axes.get_legend() else [])
    return [(text.get_text(), text.get_window_extent(renderer))
            for text in found if text and text.get_text()]


def troubles(figure):
    """Returns descriptions of texts that overlap or exceed the picture."""
    found, out = words_of(figure), []
    for i, (word, box) in enumerate(found):
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            out.append(f"'{word}' is cut")
        for other, place in found[:i]:
            if min(box.x1, place.x1) - max(box.x0, place.x0) > 0.5 and min(box.y1, place.y1) - max(
                    box.y0, place.y0) > 0.5:
                out.append(f"'{word}' touches '{other}'")
    return out
