# Nothing here is for Python: it is read by recordings.
