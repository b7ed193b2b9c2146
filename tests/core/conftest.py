"""Examples that hypothesis tries: the same each time, however busy the machine is."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
