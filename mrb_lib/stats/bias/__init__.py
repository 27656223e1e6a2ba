"""Influences on a judge besides quality: length and style of the responses, and who wrote them."""
