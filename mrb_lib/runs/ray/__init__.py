"""Runs spread over GPUs and machines: workers answer the batches, and the starting process keeps them."""
