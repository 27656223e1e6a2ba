"""Running judges over cases, and keeping their verdicts."""
