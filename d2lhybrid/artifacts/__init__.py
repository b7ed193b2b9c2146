"""Saved models, in the order of a save: the model is written (``saving``), its example recorded
(``examples``), its files listed (``manifest``), verified by another process (``proof``), and put
into place (``store``); then it is described (``inspection``), loaded (``loading``) or run without
Python (``native``).
"""
