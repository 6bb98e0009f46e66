"""Axes: join, split, reorder, reverse and roll them; diagonals. Results are views of memory wherever possible."""
