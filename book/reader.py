"""The inside of a chapter: Markdown blocks and directives -> typed blocks, and all problems."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from markdown_it.token import Token

from book.blocks import (
    Block,
    Case,
    Exercise,
    Figure,
    Heading,
    Label,
    NetworksPicture,
    Prose,
    Reference,
    Solution,
    Tab,
)
from book.cells import read_code_cell
from book.errors import BookError, Problem
from book.figures import figure_words
from book.prose import MARKDOWN, MakeMessage, inlines, plain, prose_slots, runs
from book.references import is_external, links
from book.rules import NEVER_CLOSED, is_closed, not_prose
from book.translate import Context, Message

_DIRECTIVE = re.compile(r"\{([\w-]+)\}\s*(.*)")
_CONTEXT = re.compile(r"\s*context: *(.+?)\s*")
_LABEL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CASE = re.compile(r"(\w+) (\d+) (inference|training) (\w+) \| (\S.*)")
_DIRECTIVES = ("tab", "figure-md", "exercise", "solution", "recorded")


@dataclass(frozen=True)
class Inside:
    """What surrounds blocks: the frameworks whose readers see them, open directives by line."""

    frameworks: tuple[str, ...]
    directives: Mapping[str, int] = field(default_factory=dict)


class Reader:
    """Reads the blocks of one chapter; collects labels, references and problems on the way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = f"{path.parent.name}/{path.name}"
        self.problems: list[Problem] = []
        self.labels: list[Label] = []
        self.references: list[Reference] = []
        self._pictures = 0  # of recorded networks
        self._section = ""
        self._note = ""  # what a remark says about the context of the block below it

    def problem(self, line: int, text: str) -> None:
        """Note what is wrong at a line of the file, and what to do about it."""
        self.problems.append(Problem(self.file, line, text))

    def blocks(self, text: str, first: int, inside: Inside) -> tuple[Block, ...]:
        """Parse Markdown whose first line is line ``first`` of the file."""
        lines = text.split("\n")
        env: dict[str, Any] = {}
        found: list[Block] = []
        target: tuple[str, int] | None = None
        around, note = self._note, ""
        for run in runs(MARKDOWN.parse(text, env)):
            start, end = run[0].map or [0, 0]
            line = first + start
            if run[0].type == "myst_line_comment":
                remark = _CONTEXT.fullmatch(run[0].content)
                note = remark[1] if remark else note
                continue
            if target and run[0].type != "heading_open":
                self.problem(target[1], f"the target ({target[0]})= has no heading right below it.")
                target = None
            if run[0].type == "myst_target":
                target = (run[0].content.strip(), line)
                continue
            while end > start + 1 and not lines[end - 1].strip():
                end -= 1
            for token in run:
                token.map = [token.map[0] - start, token.map[1] - start] if token.map else None
            self._note = note or around
            block = self.block(run, lines[start:end], line, target, inside)
            self._note, note, target = around, "", None
            if block is not None:
                found.append(block)
        if target:
            self.problem(target[1], f"the target ({target[0]})= has no heading right below it.")
        for definition in env.get("references", {}).values():
            self.problem(
                first + definition["map"][0],
                "write a link's address where the link is: [text](address).",
            )
        return tuple(found)

    def block(
        self,
        run: list[Token],
        lines: list[str],
        line: int,
        target: tuple[str, int] | None,
        inside: Inside,
    ) -> Block | None:
        """One outermost block; None where it is malformed."""
        head = run[0]
        if head.type == "colon_fence" or (head.type == "fence" and head.info.startswith("{")):
            return self.directive(head, lines, line, inside)
        if not self.is_prose(run, lines, line):
            return None
        if head.type == "heading_open":
            self._section = target[0] if target else plain(run[1].content)
        slots = prose_slots(lines, run, self.messages(line, inside))
        self.refer(run, lines, line, inside)
        source = "\n".join(lines)
        if head.type != "heading_open":
            return Prose(line, source, slots)
        return self.heading(Heading(line, source, slots, int(head.tag[1]), None), target, inside)

    def is_prose(self, run: Sequence[Token], lines: Sequence[str], line: int) -> bool:
        problems = list(not_prose(run, lines))
        for row, text in problems:
            self.problem(line + row, text)
        return not problems

    def heading(
        self, heading: Heading, target: tuple[str, int] | None, inside: Inside
    ) -> Heading | None:
        lowest = {"tab": 3, "exercise": 7, "solution": 5}
        level, around = max(((lowest[name], name) for name in inside.directives), default=(1, ""))
        if not heading.slots:
            self.problem(heading.line, "a heading needs a text.")
            return None
        if heading.level < level:
            allowed = "holds no headings" if level > 6 else f"holds headings from level {level} on"
            self.problem(heading.line, f"the inside of {{{around}}} {allowed}.")
        if target is None:
            return heading
        return replace(heading, label=self.label(target[0], target[1], inside))

    def directive(
        self, fence: Token, lines: Sequence[str], line: int, inside: Inside
    ) -> Block | None:
        info = fence.info.strip()
        match = _DIRECTIVE.fullmatch(info)
        name, argument = (match[1], match[2].strip()) if match else ("", "")
        is_code = name == "code-cell" and fence.type == "fence"
        around = name if name in inside.directives else "solution"
        if not info:
            self.problem(line, f"{fence.markup} closes nothing; is a block above closed too early?")
        elif not is_code and (name not in _DIRECTIVES or fence.type == "fence"):
            self.problem(
                line,
                f"expected ```{{code-cell}} python or :::{{name}} with one of "
                f"{', '.join(_DIRECTIVES)} as name; received {fence.markup}{info}.",
            )
        elif name in inside.directives or (name == "exercise" and around in inside.directives):
            opened = inside.directives[around]
            self.problem(
                line, f"{{{name}}} inside {{{around}}}: first close the one of line {opened}."
            )
        elif is_code and argument != "python":
            self.problem(line, f"code cells are in python; received {argument!r}.")
        elif not is_closed(fence, lines):
            self.problem(line, NEVER_CLOSED.format(fence.markup))
        else:
            if is_code:
                messages = partial(self.messages, inside=inside)
                return read_code_cell(fence.content, line, messages, self.problem)
            inside = replace(inside, directives={**inside.directives, name: line})
            return self.container(name, argument, fence, line, inside)
        return None

    def container(
        self, name: str, argument: str, fence: Token, line: int, inside: Inside
    ) -> Block | None:
        """A directive that holds further Markdown."""
        if name == "figure-md":
            return self.figure(argument, fence, line, inside)
        if name == "recorded":
            return self.recorded(argument, fence.content, line, inside)
        if name == "tab":
            inside = replace(inside, frameworks=self.readers(argument, line, inside))
            section = self._section  # a section that some readers lack ends with its tab
            blocks = self.blocks(fence.content, line + 1, inside)
            self._section = section
            return Tab(line, inside.frameworks, blocks)
        if name == "exercise":
            self.label(argument, line, inside)
        blocks = self.blocks(fence.content, line + 1, inside)
        if not blocks:
            self.problem(line, f"this {{{name}}} is empty; it needs a text.")
            return None
        return (Exercise if name == "exercise" else Solution)(line, argument, blocks)

    def readers(self, argument: str, line: int, inside: Inside) -> tuple[str, ...]:
        """The frameworks that a tab names."""
        keys = [key.strip() for key in argument.split(",")]
        wrong = [key for key in keys if key not in inside.frameworks]
        if wrong:
            self.problem(
                line,
                f"expected frameworks out of {', '.join(inside.frameworks)}, as the front matter "
                f"lists them; received {', '.join(map(repr, wrong))}.",
            )
        return tuple(key for key in inside.frameworks if key in keys) or inside.frameworks

    def figure(self, argument: str, fence: Token, line: int, inside: Inside) -> Block | None:
        tokens = MARKDOWN.parse(fence.content)
        images = [child for token in tokens[1:2] for child in token.children or ()]
        paragraphs = [token.type for token in tokens[::3]] == ["paragraph_open"] * 2
        if not paragraphs or [image.type for image in images] != ["image"]:
            self.problem(
                line, "a figure is ![alt text](figures/name.svg), an empty line, and a caption."
            )
            return None
        image = str(images[0].attrs["src"])
        words: tuple[Message, ...] = ()
        if not image.startswith("figures/") or not (self.path.parent / image).is_file():
            self.problem(line + 1, f"there is no figure {image!r} beside the chapter.")
        else:
            words = self.figure_words(image, line + 1)
        if not images[0].content.strip():
            self.problem(line + 1, "a figure needs an alt text, for those who cannot see it.")
        at = tokens[3].map[0] if tokens[3].map else 0
        lines = fence.content.split("\n")
        self.is_prose(tokens[3:], lines, line + 1)
        self.refer(tokens[3:], lines[at:], line + 1, inside)
        make = self.messages(line + 1, inside)
        caption = " ".join(text.strip() for text in tokens[4].content.split("\n"))
        label, alt = self.label(argument, line, inside), make(images[0].content, "alt", 0)
        return Figure(line, label, image, words, alt, make(caption, "caption", at))

    def recorded(
        self, argument: str, content: str, line: int, inside: Inside
    ) -> NetworksPicture | None:
        """The networks whose recording is drawn, a line each; their names are labels."""
        if argument != "networks":
            self.problem(line, f"expected :::{{recorded}} networks; received {argument!r}.")
            return None
        make, cases = self.messages(line + 1, inside), []
        for row, text in enumerate(content.split("\n")):
            match = _CASE.fullmatch(text.strip())
            if match:
                network, batch, task, dtype, name = match.groups()
                cases.append((Case(network, int(batch), task, dtype), make(name, "label", row)))
            elif text.strip():
                expected = "resnet 1 inference float32 | ResNet, batch 1"
                self.problem(line + 1 + row, f"expected a line such as {expected!r}.")
        if not cases:
            self.problem(line, "this {recorded} is empty; it needs a line for each network.")
            return None
        self._pictures += 1
        return NetworksPicture(line, self._pictures, inside.frameworks, tuple(cases))

    def figure_words(self, image: str, line: int) -> tuple[Message, ...]:
        try:
            return figure_words(self.path.parent / image)
        except BookError as error:
            self.problem(line, f"{image}: {error}")
            return ()

    def label(self, name: str, line: int, inside: Inside) -> str:
        if not _LABEL.fullmatch(name):
            self.problem(line, f"expected a label such as sec-name or ex-name, received {name!r}.")
        else:
            self.labels.append(Label(name, line, inside.frameworks))
        return name

    def refer(self, run: Sequence[Token], lines: Sequence[str], line: int, inside: Inside) -> None:
        """Note the links of a block for ``check_references``."""
        found = []
        for token, row in inlines(run):
            href = str(token.attrs.get("href", "")) if token.type == "link_open" else ""
            if href and not is_external(href):
                found.append(href)
                self.references.append(Reference(href, line + row, inside.frameworks))
        if set(found) != set(links("\n".join(lines))):
            self.problem(
                line, "write a link within the collection as [text](#label), without title."
            )

    def messages(self, first: int, inside: Inside) -> MakeMessage:
        """What makes the messages of a block whose first line is line ``first`` of the file."""
        frameworks = inside.frameworks if "tab" in inside.directives else ()
        chapter, section, note = self.path.stem, self._section, self._note

        def make(text: str, kind: str, row: int) -> Message:
            context = Context(chapter, section, frameworks, kind, note)
            return Message(text, context, self.file, first + row)

        return make
