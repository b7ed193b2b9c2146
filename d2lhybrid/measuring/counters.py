"""What a process counts: the pages of new memory that it gets."""

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]


def counts_page_faults() -> bool:
    """Does this system say how many pages a process has got?"""
    return resource is not None


def page_faults() -> int:
    """How often this process got a page of memory that it did not have; 0 if nothing counts it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0
