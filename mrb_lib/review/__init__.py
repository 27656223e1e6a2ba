"""Pages for people, in a browser or a notebook: cases, the failure explorer and annotation.

Each room holds its Python, scripts and style sheets; the widgets show what `stats` computes, and compute nothing.
"""
