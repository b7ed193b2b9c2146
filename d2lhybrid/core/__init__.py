"""What everything else builds on: it knows no framework, no result and no graph."""
