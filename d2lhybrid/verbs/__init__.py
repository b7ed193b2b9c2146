"""What a reader calls, a file a family, and the Comparison that a reader holds."""
