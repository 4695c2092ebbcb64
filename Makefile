# `make demo` sets up and shows the paper's first figure and a small cheetah; `make test` sets up and runs every gate.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUNS   := runs/demo

.PHONY: setup demo test smoke lint types docs clean

# PyBullet comes along where there is a wheel of it (Python 3.11); building it takes a compiler and a quarter of an hour.
$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs,locomotion,gymnasium,dask,explore,elites]"
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --only-binary pybullet -e ".[bullet]"
	touch $@

setup: $(VENV)/ready

demo: setup
	$(BIN)/python examples/figure1.py --output $(RUNS)
	$(BIN)/python examples/cheetah.py --output $(RUNS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --deny-warnings src

types: setup
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 25
	$(BIN)/mkdocs build --strict

# The whole paper at a size that means nothing: every run is made, every figure drawn, every claim gets a value.
smoke: setup
	rm -rf runs/smoke
	$(BIN)/ees reproduce --scale smoke --output runs/smoke
	$(BIN)/python -c "import json; claims = json.load(open('runs/smoke/claims.json')); \
	    missing = [name for name, claim in claims.items() if claim['value'] is None]; assert claims and not missing, missing"

docs: setup
	$(BIN)/mkdocs serve

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
