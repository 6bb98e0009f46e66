# Nothing here is for Python: recordings and programs are made with it.
