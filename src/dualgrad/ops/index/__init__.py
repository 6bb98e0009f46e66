"""Elements by their places: indices, masks, choices, order, and the segments that rows belong to."""

from . import choice, gather, indexing, masks, segments, sorting, updates

MODULES = (
    choice,
    indexing,
    gather,
    masks,
    sorting,
    segments,
    updates,
)
