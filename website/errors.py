"""What can go wrong while the site is made; this module imports nothing of the package."""


class SiteError(Exception):
    """The site cannot be made from what there is; says what to do."""
