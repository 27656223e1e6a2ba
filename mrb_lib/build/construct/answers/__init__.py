"""What do models answer, is it right, and how hard is an item therefore? Asked through the machinery of judging."""
