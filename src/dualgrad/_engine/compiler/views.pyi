# Nothing here is for Python: plans of programs are made with it.
