"""What a person looks at in a browser or a notebook: cases, the failure explorer and the annotation pages.

Each room holds its Python, scripts and style sheets; the widgets show what `stats` computes, and compute nothing.
"""
