"""Can this benchmark be used as it is, and do numbers from it mean what they seem to?

`folder.audit` checks a benchmark folder for what is damaged, missing or displaced; every finding names file, row,
column and the cure. One file a kind of check; some need scikit-learn, so nothing is imported here.
"""
