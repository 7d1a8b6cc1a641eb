"""Conditions of the library's tests: repeatable."""

import hypothesis

hypothesis.settings.register_profile("documents", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("documents")
