"""Turns the committed notebooks and the docs into a site to read; executes nothing.

The stages, in this order:

1. ``sections``: a chapter -> the ids of its sections, the same in all languages and frameworks.
2. ``notebooks``, ``documents``, ``front``: a committed notebook, a file of docs/, a language's
   first page -> the page's source. ``addresses`` turns the links of all of them into places of
   the site, and ``repository`` into places of the public repository, where there is one.
3. ``sources``: all of them -> a folder of sources for each language, rewritten where it changed.
4. Sphinx, once for each language, with ``settings`` as its configuration and ``extension`` as what
   it learns here: ``transforms`` (ids, folds, links), ``switch`` (the ways to other languages and
   frameworks), ``search`` (how a language's words are cut) and ``mathml``.
5. ``landing``: the page that sends readers to their language.

``words`` reads what the site says by itself, from ``book/words/``. ``build`` runs it all, and
``python -m website`` is the way in; ``watch`` shows one page while its chapter is written.
"""
