"""Calls are timed, and what was measured becomes records. Nothing above this folder is known here.

1. ``cold_start`` builds, loads and calls a callable for the first time.
2. ``sampler`` calls it again and times that. ``waiting`` is how it is waited for; ``calibration``
   finds out whether its work goes on when it has returned, and how many calls a turn holds.
   ``compilations`` counts the programs that are compiled meanwhile.
3. ``rounds`` gives each callable a turn in every round, until all is clear or time is up.
   ``disturbance`` judges which turns other programs held up, and whether they leave enough cores.
4. ``measurement`` has the samples and costs of one callable, and ``measurements`` all that took
   part in the same rounds: ratios, their intervals, verdicts. ``stats``, ``verdict`` and ``claim``
   say how these are decided, and ``result`` writes and reads JSON.
5. ``row`` is what ``showing`` makes of it: a row for each variant.

``provenance`` says where and when, and ``training_mode`` warns of models whose inference isn't
measured.
"""
