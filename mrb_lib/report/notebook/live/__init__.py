"""What does a notebook make while it runs? Figures drawn again for a reader who chooses, and judges made on the spot.

`figures` has what is drawn again; `probes` judges that see probed cases, `training` judges that learn. Those of the
runs are taken where there are any.
"""
