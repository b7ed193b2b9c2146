"""Calls are timed in rounds; what was measured becomes records: samples, measurements, rows."""
