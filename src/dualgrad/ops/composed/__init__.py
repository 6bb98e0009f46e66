"""Operators that are short compositions of others, under the names that ported code uses."""
