"""What do all the notebooks say of a benchmark and its verdicts?

`pipeline.report` runs headless those that changed, keeps what each published, and has `html` make the site of it.
"""
