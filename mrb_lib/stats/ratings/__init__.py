"""How near a judge's ratings of single responses come to the clinicians', and how they differ: `table`.

`coefficients` has weighted kappa, the intraclass correlations and the correlations as functions of sums over cases.
"""
