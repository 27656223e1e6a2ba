"""How are the batches of a run spread over GPUs and machines? Workers answer them; the starting process keeps them."""
