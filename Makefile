# `make demo` shows the paper's first figure and a small cheetah; `make test` is what a change must pass before a commit.
# Both set up .venv first, each with what it needs and no more.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Python compiles what is imported when it is; pip would compile all of it. So Python must be let: where the
# environment forbids it, each process that a test starts compiles JAX again, for two seconds.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt
RUNS   := runs/demo
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal --durations 15

# Some extras have wheels for some platforms and Pythons only. Where they have none, nothing is built: that
# takes a compiler and a quarter of an hour.
optional = $(PIP) --only-binary :all: -e ".[$(1)]" 2> /dev/null || echo "No wheels for the extra '$(1)' here: $(2)"

.PHONY: setup demo test test-all smoke figures lint types platforms wheels pages site docs clean

$(VENV)/demo-ready: pyproject.toml physics/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is " \
	    + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV) with JAX, MuJoCo and Matplotlib, 1.1 GB (once; a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --only-binary :all: -e "physics[warp]" -e ".[locomotion]" 2> /dev/null || { $(PIP) -e physics -e '.[locomotion]' \
	    || exit 1; $(call optional,warp,MuJoCo's own library steps robots; it is several times slower.); }
	@touch $@

$(VENV)/ready: $(VENV)/demo-ready
	@echo "Adding what tests, types, linter and documentation need, 1 GB (once; a minute or two) ..."
	@$(PIP) -e physics -e ".[locomotion,gymnasium,dask,explore,onnx,dev,docs]"
	@$(call optional,box2d,what needs it is left out and its tests skip.)
	@$(call optional,bullet,what needs it is left out and its tests skip.)
	@$(call optional,tensorboard,its tests skip.)
	@$(call optional,wandb,its tests skip.)
	@$(call optional,peers,their tests skip.)
	@touch $@

setup: $(VENV)/ready

demo: $(VENV)/demo-ready
	@echo "The paper's figure 1: three variants, four seeds each (about a minute) ..."
	@$(BIN)/python examples/figure1.py --seeds 4 --output $(RUNS)
	@echo "A small cheetah whose mutations come to run both ways (about half a minute on two cores) ..."
	@$(BIN)/python examples/cheetah.py --output $(RUNS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --deny-warnings src

types: setup
	$(BIN)/mypy

# Halves the time it takes to compile; in one piece, since both cores are busy, a tenth less again. Not in
# tests/conftest.py: a version of JAX other than ours may not know them.
test: export XLA_FLAGS := --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1
test: lint
	$(MAKE) --no-print-directory -j 2 types site
	$(PYTEST) -m "not full"

site: pages
	$(BIN)/zensical build --strict

# What takes longer than anybody waits for before a commit: many kills, many disturbances, many seeds, browsers.
test-all: setup
	$(PYTEST) -m full

# The whole paper at a size that means nothing: every run is made, every figure drawn, every claim gets a value.
smoke: setup
	rm -rf runs/smoke
	$(BIN)/ees reproduce --scale smoke --output runs/smoke
	$(BIN)/python -c "import json; claims = json.load(open('runs/smoke/claims.json')); \
	    missing = [name for name, claim in claims.items() if claim['value'] is None]; assert claims and not missing, missing"

# The documentation's figures, from results/ and from the code.
figures: setup
	$(BIN)/python scripts/draw_figures.py
	$(BIN)/python scripts/draw_rooms.py docs/assets/rooms.svg

# Whether the pins can be installed on every platform and Python that is promised.
platforms: $(VENV)/demo-ready
	$(BIN)/python scripts/platforms.py

# Both packages as others get them, into dist/: built, installed into an environment of their own with what they depend
# on from the index, whatever its versions, and tried outside of the repository.
wheels:
	rm -rf dist
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && set -e; \
	$(PYTHON) -m venv $$folder/build && $$folder/build/bin/pip install --quiet build; \
	for source in physics .; do $$folder/build/bin/python -m build --outdir dist $$source; done; \
	$(PYTHON) -m venv $$folder/venv; \
	$$folder/venv/bin/pip install dist/mujoco_fused-*.whl "$$(echo dist/evolvability_es-*.whl)[locomotion]"; \
	cd $$folder && venv/bin/ees --help; \
	for task in point cheetah; do venv/bin/ees train $$task --preset smoke --output $$task; venv/bin/ees show $$task; done

# What of the documentation is made by programs.
pages: setup
	$(BIN)/python scripts/command_pages.py docs/commands
	@if $(BIN)/python -c "import warp" 2> /dev/null; then $(BIN)/python scripts/playground.py docs/playground/live.html; \
	    else echo "No wheels for the extra 'warp' here: the playground's page stays empty."; fi

docs: pages
	$(BIN)/zensical serve

clean:
	rm -rf $(VENV) site .cache docs/commands docs/playground .pytest_cache .mypy_cache .ruff_cache
