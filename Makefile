# The two commands of the README, and what maintainers use. Each does its own set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where this is set, each of the many processes of the tests compiles all that it imports again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint unit long bench docs clean

demo: $(VENV)/installed
	@$(BIN)/stereotrope demo -o runs/demo
	@echo "Open the report in a browser: $(CURDIR)/runs/demo/report/index.html"

# Side by side: mypy keeps one processor busy while the first tests are collected.
test: $(VENV)/test-installed
	@$(MAKE) --no-print-directory --jobs=2 lint unit

lint: $(VENV)/test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One worker more than processors; each takes whole runs of neighbouring tests, so that what a file sets up is made once.
unit: $(VENV)/test-installed
	$(BIN)/pytest --numprocesses=auto --dist=worksteal --durations=30 --durations-min=5

long: $(VENV)/test-installed
	$(BIN)/pytest -m slow -o faulthandler_timeout=0

bench: $(VENV)/test-installed
	$(BIN)/python -m bench

docs: $(VENV)/test-installed
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) runs build dist

# A folder that an interrupted set-up left half made is cleared first.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit("stereotrope needs Python 3.11 or newer, found " + sys.version.split()[0] + "; set PYTHON=python3.12, say") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml $(VENV)/made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e .
	@touch $@

$(VENV)/test-installed: pyproject.toml $(VENV)/made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e ".[test]"
	@touch $@ $(VENV)/installed
