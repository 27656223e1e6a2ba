"""The embedded benchmark: simulated cases, images, responses and annotators, drawn from a seed."""
