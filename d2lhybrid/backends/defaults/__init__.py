"""What is taken for a framework that can't do something, or doesn't tell.

The modules are called like those of a framework's folder, each of which takes from the one of its
name, function by function, what it lacks. If a folder has no ``compiler.py`` or ``why.py``, the one
here stands in its place.
"""
