"""Results: frozen records, and how they are shown as text, HTML and plots."""
