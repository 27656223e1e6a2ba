"""In the place of a package that jsonschema would check IRIs with; see tests/conftest.py."""

raise ImportError("it would compile a grammar for two seconds")
