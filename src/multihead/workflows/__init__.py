"""End-to-end workflows, from data to results. The command line and the Python API both call them."""
