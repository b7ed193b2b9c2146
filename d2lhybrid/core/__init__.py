"""What everything else stands on: it knows no framework, no result and no graph."""
