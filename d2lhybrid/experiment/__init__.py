"""Experiments: what is compared, the rounds, what was measured, and what follows from it."""
