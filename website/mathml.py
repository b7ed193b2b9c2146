"""Stage 4: formulas as MathML, which browsers show by themselves: no script, no font to load."""

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register it as the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
