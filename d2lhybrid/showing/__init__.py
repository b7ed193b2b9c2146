"""Rows become a table, sentences, pictures and JSON. Nothing here knows a clock or a framework."""
