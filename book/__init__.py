"""Turns chapters into notebooks. Data flows one way, through these stages in this order:

1. ``parse``: a chapter's Markdown -> a tree of typed blocks (``blocks``); everything wrong with
   the collection is reported at once, before anything is built. ``frontmatter`` reads a chapter's
   first lines; ``prose``, ``code`` and ``references`` know the inside of a paragraph, of a code
   cell and of a link, and ``figures`` the words in a figure.
2. ``translate``: every piece of text a reader sees -> the same piece in the reader's language,
   out of ``catalogs``. ``audit`` stops the build where one is missing, stale or not as it should
   be; ``pieces``, ``typography`` and ``glossary`` know what that is. ``package`` does the same for
   what d2lhybrid itself says.
3. ``assemble``: blocks of one language and one framework -> a notebook. ``recorded`` finds what was
   recorded on a GPU, and ``boxes`` shows it. ``frontpage`` makes the page that leads to all
   notebooks, and ``readme`` takes README through these three stages.
4. ``execute``: a notebook -> the same notebook with its outputs.
5. ``check``: committed notebooks against what their sources build; writes nothing. ``likeness``
   and ``comparisons``: which differences count, because processors and times differ. ``lengths``:
   how long the chapters are.
6. ``student``: notebooks to give out, without solutions, with the committed outputs.

``languages`` and ``frameworks`` say which there are, ``files`` where everything lies, and
``measured`` what executed notebooks have measured. ``python -m book`` is the way in;
docs/authoring.md is the manual.
"""

import sys

# nbformat imports jsonschema, which would build grammars of addresses here that no notebook's
# schema asks for: three seconds in each process. Without this package it leaves them out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
