"""Saved models, in the order of a save: the model is written (``saving``), its example recorded
(``store``), its files listed (``manifest``), verified by another process (``saving``), and put into
place (``store``); then it is described and loaded (``loading``) or run without Python (``native``).
"""
