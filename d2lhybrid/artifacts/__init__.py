"""Saved models.

In the order of a save: a format writes the model into a hidden folder, the example calls are
recorded (``examples``), the files listed with their hashes (``integrity``, ``manifest``), another
process verifies the whole (``proof``), and it is put into place (``store``) and trusted
(``trusted``). Then it is described (``inspect``), loaded (``load``) and verified (``verify``), or
run without Python (``native``, ``program``).
"""
