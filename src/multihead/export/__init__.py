"""A trained run for other runtimes: a runtime is one file, and its name is ``--to`` on the command line."""
