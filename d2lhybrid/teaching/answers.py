"""What was found beside what the reader has guessed: words, numbers or comparisons."""

from collections.abc import Mapping
from typing import Any

from d2lhybrid.core.environment import ipython
from d2lhybrid.core.i18n import sentences
from d2lhybrid.showing.cautions import uncertain
from d2lhybrid.teaching.bars import picture, picture_in_words
from d2lhybrid.teaching.groups import groups
from d2lhybrid.teaching.guesses import Plain, in_words, kind_of_all, require_guesses
from d2lhybrid.teaching.sentences import Revealed
from d2lhybrid.verbs.comparison import Comparison


def reveal(
    actual: Mapping[str, Comparison] | Mapping[str, Plain], guess: Mapping[str, Plain]
) -> None:
    """Show what was found beside what the reader has guessed.

    Words and numbers are printed as a table with a mark where a guess is wrong, and how many
    guesses are right. A number that isn't whole may be missed by 10%. Words of ours, such as
    fates, are shown in the reader's language and may be guessed in it.

    Of comparisons, the picture comes first: a bar for each variant except the baseline and the
    references, and each guess as a hollow diamond in the row of the fastest. Below it stand a
    sentence for each bar, and the tables under *Details*. Outside of IPython all three are printed
    in words.

    Args:
        actual: by the names to show, words (such as ``graph(...).fates``), numbers, or what
            ``compare`` returned.
        guess: by these names, the word or the number; of a comparison, how many times as fast as
            the baseline the fastest variant will be. Names may be missing.

    Raises:
        ArgumentError: `actual` is no dict of words alone, numbers alone or comparisons alone; or
            `guess` has a name that `actual` has not, something of another kind, or no number
            above 0 for a comparison.
        MissingPackageError: in IPython, if matplotlib is not installed, for comparisons.

    >>> reveal({"eager": 5, "compiled": 1}, {"eager": 4})
              your guess  actual
    eager              4       5  ✗
    compiled           –       1
    You got 0 of 1 right.
    """
    kind = kind_of_all(actual)
    require_guesses(guess, actual, kind)
    if kind is Comparison:
        _reveal_comparisons(actual, guess)
    else:
        print(in_words(actual, guess))


def _reveal_comparisons(results: Any, guess: Mapping[str, Any]) -> None:
    revealed = groups(results, guess)
    comparisons = [comparison.rows for comparison in results.values()]
    below = Revealed(revealed, comparisons)
    if ipython() is None:
        print(sentences(uncertain(comparisons), picture_in_words(revealed)), below, sep="\n")
        return
    from IPython.display import display
    from matplotlib.pyplot import close

    figure = picture(revealed, comparisons).figure
    display(figure)
    close(figure)  # or the notebook shows it once more below the cell
    display(below)
