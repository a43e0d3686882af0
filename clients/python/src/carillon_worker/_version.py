__version__ = "0.1.0"

PROTOCOL = 1
CLIENT = f"carillon-worker-python/{__version__}"
