"""Judges that read weights on this machine: by a reply, the probabilities of letters or ratings, or a reward head.

Its modules import torch, so nothing is handed out here.
"""
