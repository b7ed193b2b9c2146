"""Saved models that leave Python, from bytes up.

* ``manifest``: what an artifact says about itself; ``store``: folders on disk, replaced whole;
  ``trust``: who made it; ``examples``: recorded tensors and how they are compared.
* The formats are in ``d2lhybrid.frameworks.<framework>_formats``, what a format has to offer in
  ``d2lhybrid.frameworks.formats``.
* ``saving``, ``loading``, ``inspection`` and ``native`` are the public verbs, ``cli`` the shell's.
"""
