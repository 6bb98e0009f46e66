"""Encoding: the instructions of a region as the executor reads them."""
