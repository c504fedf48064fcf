# Each target does its own set-up in .venv; nothing but python3, pip and make is needed.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo test lint checks test-full benchmark benchmark-peers benchmark-scaling clean

demo: $(VENV)/.installed
	$(RUN)/python examples/demo.py

test: lint checks

lint: $(VENV)/.installed-dev
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

checks: $(VENV)/.installed-dev
	$(RUN)/python -m pytest -n 2 -m "not slow"

test-full: $(VENV)/.installed-dev
	$(RUN)/python -m pytest -n 2 --hypothesis-profile=explore

benchmark: $(VENV)/.installed
	$(RUN)/python benchmarks/stages.py

benchmark-peers: $(VENV)/.installed-benchmark
	$(RUN)/python benchmarks/peers.py

benchmark-scaling: $(VENV)/.installed
	$(RUN)/python benchmarks/scaling.py

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-benchmark: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable ".[benchmark]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist demo-run .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
