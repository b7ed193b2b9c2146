"""The same experiment in fresh processes, one after the other."""
