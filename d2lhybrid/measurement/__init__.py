"""Measuring: timers that wait, latency and throughput, comparison in shuffled rounds."""
