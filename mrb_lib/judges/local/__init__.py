"""How does a model on this machine judge? By its reply, the probabilities of letters or ratings, or a reward head.

Its modules import torch, so nothing is handed out here.
"""
