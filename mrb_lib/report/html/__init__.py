"""What does the site show: figures, tables, prose, conclusions and whole cases, as pages that open from disk, or a PDF.

`assemble.assemble` brings them in line with what the notebooks published.
"""
