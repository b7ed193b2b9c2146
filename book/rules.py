"""What of Markdown is not for chapters: found in one block, with the row and what to do."""

from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from book.prose import inlines

NEVER_CLOSED = "this block is never closed; end it with a line '{}'."
_TEXTS = {
    "html_block": "write Markdown: HTML blocks are not for chapters.",
    "myst_block_break": "'+++' breaks are not for chapters; a heading opens a new cell.",
    "heading_open": "a heading stands on its own, not in a list or a quote.",
    "colon_fence": "directives start at the left margin, not in a list or a quote.",
    "myst_line_comment": "a remark starts at the left margin, not in a list or a quote.",
    "myst_target": "targets stand right above a heading, not in a list or a quote.",
    "image": "an image needs ':::{figure-md} fig-name' around it.",
    "myst_role": "roles are not for chapters; write plain Markdown.",
}


def is_closed(fence: Token, lines: Sequence[str]) -> bool:
    """Whether a fence, whose lines these are, ends with its own closing line."""
    last = lines[-1].strip("> \t") if len(lines) > 1 else ""
    return last.startswith(fence.markup) and not last.strip(fence.markup[0])


def not_prose(run: Sequence[Token], lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """What keeps an outermost block, on these lines, from being plain Markdown.

    Its tokens count lines from the block's first.
    """
    for token in run:
        start, end = token.map or (0, 0)
        if token.type == "fence" and token.info.startswith("{"):
            yield start, _TEXTS["colon_fence"]
        elif token.type == "fence" and not is_closed(token, lines[start:end]):
            yield start, NEVER_CLOSED.format(token.markup)
        elif token.type in _TEXTS and (token is not run[0] or token.type != "heading_open"):
            yield start, _TEXTS[token.type]
    for token, row in inlines(run):
        if token.type in _TEXTS:
            yield row, _TEXTS[token.type]
