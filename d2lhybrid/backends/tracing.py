"""What is said where a framework traces code, so that there is nothing to wait for."""


def tracing_text(framework: str) -> str:
    """What a TracingError says."""
    from d2lhybrid.core.i18n import gettext as _  # who only waits needs no catalog

    text = _(
        "Expected code that computes now. Received: code that {framework} is tracing, so "
        "there is nothing to measure yet. Measure outside the compiled function, around its call."
    )
    return text.format(framework=framework)
