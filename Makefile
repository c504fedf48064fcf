# Each target does its own set-up in .venv; nothing but python3, pip and make is needed.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # or every process would compile all that it imports

.PHONY: demo test lint kernels checks docs test-full browser bounds coverage fuzz mutation audit benchmark benchmark-peers benchmark-scaling reproduce clean

demo: $(VENV)/.installed
	$(RUN)/python examples/demo.py

test:
	$(MAKE) --jobs 3 lint kernels browser
	$(MAKE) checks

lint: $(VENV)/.installed-dev
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

# Tests that run side by side would compile many kernels twice.
kernels: $(VENV)/.installed-dev
	$(RUN)/python -m tests.compile_kernels

PROCESSES ?= 2
checks: $(VENV)/.installed-dev browser
	$(RUN)/python -m pytest -n $(PROCESSES) --dist loadscope --no-loadscope-reorder -m "not slow"

# The documentation site, in docs/_build/html; a warning is an error.
docs: $(VENV)/.installed-docs
	$(RUN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

# Everything, then once more with every index checked, then with kernels as Python: about two hours on two cores.
test-full: lint $(VENV)/.installed-dev browser
	FULL_TESTS=1 $(RUN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder --hypothesis-profile=explore
	$(MAKE) docs bounds coverage

# Numba keeps what it compiles by source, not by option: another folder for kernels that check their indices.
bounds: $(VENV)/.installed-dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath .numba-bounds) $(RUN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not slow"

# Coverage sees no compiled code: what else tests kernels runs once more as Python. The rest runs as it is, in which
# tests/kernels has every kernel run as Python in a process of its own. About 25 minutes on two cores.
INTERPRETED := tests/kernels tests/fuzz/test_readers.py tests/selectors/rows/test_oracles.py::test_columns_of_all_kinds_are_scaled_and_learned_as_the_oracles_say tests/selectors/columns/test_alpha_investing.py tests/selectors/columns/test_blankets.py \
	tests/selectors/columns/test_filters.py tests/selectors/columns/test_ogfs.py tests/selectors/columns/test_osfs.py tests/selectors/matrix/test_relief.py tests/selectors/rows/test_saturation.py tests/selectors/columns/test_saola.py \
	tests/sources/test_transpose.py::test_buckets_hold_what_memory_would tests/sources/test_transpose.py::test_ids_may_be_huge
coverage: $(VENV)/.installed-dev
	rm -rf .coverage && mkdir .coverage
	NUMBA_DISABLE_JIT=1 $(RUN)/python -m coverage run -m pytest -W ignore::RuntimeWarning -m "not needs_jit and not slow" $(INTERPRETED)
	$(RUN)/python -m coverage run -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not slow"
	$(RUN)/python -m coverage combine --quiet
	$(RUN)/python -m coverage report --skip-covered --fail-under=95

# The page of a report is tested in Debian's chromium; where there is none and nobody may install it, that is skipped.
HAS_BROWSER := command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null
browser:
	@if $(HAS_BROWSER); then exit; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing the Debian package chromium with apt-get, for the browser tests of the report"; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium > /dev/null; \
	fi; \
	$(HAS_BROWSER) || echo "NO BROWSER: the browser tests of the report are skipped; install chromium to run them" >&2

FUZZ_SECONDS ?= 300
TARGETS := svmlight_text svmlight_file delimited_file names arrow npz arrays model
fuzz: $(VENV)/.installed-dev
	for target in $(TARGETS); do $(RUN)/python -m tests.fuzz.run $$target --seconds $(FUZZ_SECONDS) || exit 1; done
	for target in $(TARGETS); do $(RUN)/python -m tests.fuzz.run $$target --seconds $(FUZZ_SECONDS) --jit || exit 1; done
	$(RUN)/python -m tests.fuzz.guard 0 200000 | tail -1
	$(RUN)/python -m tests.fuzz.models --mutations 10000

# Changes the code one spot at a time, and names what no test notices: hours for all modules.
mutation: $(VENV)/.installed-dev
	$(RUN)/python -m tests.mutation

# Known faults of what is installed; needs the network.
audit: $(VENV)/.installed
	$(RUN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(RUN)/python -m pip_audit --skip-editable

benchmark: $(VENV)/.installed
	$(RUN)/python benchmarks/stages.py

benchmark-peers: $(VENV)/.installed-benchmark
	$(RUN)/python benchmarks/peers.py

benchmark-scaling: $(VENV)/.installed
	$(RUN)/python benchmarks/scaling.py

# The papers' tables and figures, run again; NAMES="P1.table2 P3" chooses.
NAMES ?= all
reproduce: $(VENV)/.installed
	$(RUN)/python -m reproduction $(NAMES)

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[dev]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-benchmark: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[benchmark]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[docs]"
	touch $@ $(VENV)/.installed

clean:
	rm -rf docs/_build docs/gallery docs/reference/generated $(VENV) .coverage .numba .numba-bounds build dist demo-run .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
