"""Chapters that the tests of book build, and their catalogs."""

import polib

FRONT = "---\ntitle: Title\norder: 1\nframeworks: [mxnet, pytorch, tensorflow]\n---\n"
ONE = "---\ntitle: Title\norder: 1\nframeworks: [pytorch]\n---\n\n# Title\n\n"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'

# One of everything that a chapter may hold.
FULL = (
    FRONT
    + """
(sec-title)=
# Title

A paragraph with *emphasis*, `code` and $x^2$, wrapped
over two lines, on [a later part](#sec-later) and [](limits.md#sec-limits).

> A quote
> on two lines.

- first item,
  wrapped
  1. nested item

     with a second paragraph
- second item

% A remark to other authors.

% context: verb
| Name | Time |
|------|-----:|
| `a \\| b` | 1.5 |
| both | [the figure](#fig-flow) |

$$
y = x^2
$$

```text
[not a link](#nowhere)
```

```{code-cell} python
:labels: ["Slow", "Slow and steady"]
# A comment
# on two lines.
print("Slow and steady:", 1)  # beside code
print("Slow")
```

:::{figure-md} fig-flow
![Alt text](figures/flow.svg)

The caption, with
[a link](#sec-title).
:::

:::{tab} pytorch
Only PyTorch.

(sec-torch)=
### A Part for PyTorch

See [](#sec-torch).
:::

:::{tab} mxnet, tensorflow
The others.

```{code-cell} python
:tags: [hide-input]
x = 1
```
:::

(sec-later)=
## Later: a `part`

The first sentence of this part stands here.

Text, and a file of [this repository](../README.md) and [the web](https://example.org).

:::{exercise} ex-one
First exercise.
:::

::::{exercise} ex-two
- part a

:::{tab} pytorch
- part b
:::
::::

## Solutions

::::{solution} ex-one
As in [](#ex-one).

```{code-cell} python
print(1)
```

:::{tab} pytorch
For PyTorch.
:::
::::

:::{solution} ex-two
Easy.
:::
"""
)

LIMITS = FRONT.replace("Title", "Limits") + "(sec-limits)=\n# Limits\n\nSee [](full.md)."


def cell(code, option=""):
    """A cell with code, behind one option."""
    return f"```{{code-cell}} python\n{option}{code}\n```\n\n"


def written(root, **chapters):
    """Write chapters, by name, and what they lead to below `root`, which is returned.

    Of the chapters that say `order: 1`, each gets the place where it stands here.
    """
    figures = root / "chapters" / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    (figures / "flow.svg").write_text(SVG)
    (root / "README.md").write_text("# Readme\n")
    for order, (name, text) in enumerate(chapters.items(), 1):
        placed = text.replace("\norder: 1\n", f"\norder: {order}\n")
        (root / "chapters" / f"{name}.md").write_text(placed, encoding="utf-8")
    return root


def po(root, code="pt", chapter="a"):
    """Where the catalog of a chapter lies."""
    return root / f"translations/{code}/LC_MESSAGES/{chapter}.po"


def change_entries(path, texts, flags=()):
    """Give some or all messages of a catalog another text, by a dictionary or a function."""
    catalog = polib.pofile(str(path))
    for entry in catalog:
        if callable(texts) or entry.msgid in texts:
            text = texts(entry.msgid) if callable(texts) else texts[entry.msgid]
            entry.flags = [*flags]
            if isinstance(text, list):
                entry.msgstr_plural = dict(enumerate(text))
            else:
                entry.msgstr = text
    catalog.save()
