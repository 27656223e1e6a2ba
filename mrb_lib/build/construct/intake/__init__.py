"""What is taken in from a source: are its images fit, what are its items about, and which of them are there twice?"""
