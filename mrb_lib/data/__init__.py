"""Benchmarks: loading, saving, auditing, importing, and the embedded one."""
