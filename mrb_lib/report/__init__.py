"""The report: notebooks run headless, figures and tables published, the static site."""
