# Nothing here is for Python: programs are planned and run through `replay`.
