"""Answers of models to items, their marks, and how hard items are; asked through the machinery of judging."""
