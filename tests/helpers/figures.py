"""What tests ask of figures: that they can be read, and what they say in words."""

import itertools


def require_apart(texts):
    boxes = [text.get_window_extent() for text in texts]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def require_good_looks(ax):
    """No text overlaps another of its kind or leaves the figure; ticks tell a scale."""
    figure = ax.figure
    figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        inside = [tick.label1 for tick in ticks]
        require_apart(inside)
        texts = {label.get_text() for label in inside}
        assert len(texts) == len(inside) >= 2 or len(inside) == 1
        assert not any(label.get_text() for label in axis.get_minorticklabels())
    require_apart(ax.texts)
    titles = [figure._supxlabel, figure._suptitle, ax.xaxis.label, ax.yaxis.label]
    said = [text for text in [*titles, *ax.texts, *inside] if text and text.get_text()]
    for text in said:  # inside: of the rows
        low, high = text.get_window_extent().get_points()
        assert all(low > -2), text.get_text()
        assert all(high < figure.bbox.get_points()[1] + 2), text.get_text()


def in_words(ax):
    """What a figure says to those who don't see it; it has this and one picture."""
    data, _metadata = ax.figure._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    return data["text/plain"]
