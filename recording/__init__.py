"""The GPU part: what a machine with an accelerator runs, and the files that it leaves.

``python -m recording run`` runs it, ``python -m recording kit`` packs what it needs for a machine
that has no copy of this repository, and ``recordings`` reads the files, for the notebooks and the
site.
"""
