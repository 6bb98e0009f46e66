"""Axes: joined and taken apart, reordered, reversed and rolled; diagonals. Views of memory wherever they can be."""
