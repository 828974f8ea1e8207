# Everything a developer runs. Needs Python 3.11+ and make; the rest is installed into .venv.

PYTHON     ?= python3
PORT       ?= 4200
UV_VERSION := 0.13.7
VENV       := .venv
BIN        := $(VENV)/bin
UV         := $(BIN)/uv
UV_READY   := $(VENV)/.uv-$(UV_VERSION)
INSTALLED  := $(VENV)/.installed

# The fast folders come first, so that a mistake shows early, and real Prefect servers and a browser last. All use every
# core: each worker has databases, folders and ports of its own. Those that mostly wait, for database servers and for
# processes, have two workers a core. A worker keeps a file to itself and takes files in the order of tests/conftest.py.
FAST_TESTS  := tests/unit tests/property tests/sandbox
STORE_TESTS := tests/contract tests/integration
ROOM_TESTS  := $(shell grep -lE 'tests\.support\.(prefect|browser)' tests/acceptance/*.py)
SLOW_TESTS  := tests/acceptance $(ROOM_TESTS:%=--ignore=%)
EVERY_CORE  := --numprocesses auto --dist loadfile --no-loadscope-reorder
TWICE       := $(EVERY_CORE) --numprocesses $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
# uv trusts the certificates this machine trusts, as pip and git do behind a company's proxy.
export UV_SYSTEM_CERTS ?= true
# Python keeps what it compiled, whatever the shell says: tests and workers start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo up test test-fast test-long check docs bench lock clean

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## Install Patra and its locked dependencies into .venv

demo: $(INSTALLED) ## Harvest a sandbox source and show what happened
	@$(BIN)/patra demo

up: $(INSTALLED) ## Run Prefect, a worker and simulated sources on this machine, until Ctrl-C
	@$(BIN)/patra up --port $(PORT)

# mypy has one core: the fast tests begin beside it.
test: $(INSTALLED) ## Check the code and run every test but the long ones
	@$(MAKE) --no-print-directory -j2 check test-fast
	$(BIN)/pytest $(STORE_TESTS) -m "not long" $(TWICE)
	$(BIN)/pytest $(SLOW_TESTS) -m "not long" $(TWICE)
	$(BIN)/pytest $(ROOM_TESTS) -m "not long" $(EVERY_CORE)

test-fast: $(INSTALLED)
	$(BIN)/pytest $(FAST_TESTS) -m "not long" $(EVERY_CORE)

test-long: $(INSTALLED) ## Run the tests that take minutes
	$(BIN)/pytest tests -m "long and not alone" $(TWICE) --dist worksteal
	$(BIN)/pytest tests -m "long and alone"

check: $(INSTALLED) ## Lint, formatting, types, and the layers' contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(INSTALLED) ## Write the generated tables of docs/ again
	@$(BIN)/python -m tests.support.generated_docs

bench: $(INSTALLED) ## Measure throughput and latency
	$(BIN)/python -m tests.bench

lock: $(UV_READY) ## Bring requirements.lock up to pyproject.toml and requirements-uv.lock to UV_VERSION; pins that still fit stay
	echo "uv==$(UV_VERSION)" | $(UV) pip compile --universal --generate-hashes --no-emit-index-url -q - -o requirements-uv.lock
	$(UV) pip compile --all-extras --universal --no-strip-extras --generate-hashes --no-emit-index-url -q \
		pyproject.toml -o requirements.lock

clean: ## Remove .venv, caches and build output; the data in .patra stays
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'

# Each stamp is its recipe's last step: an interrupted setup starts that step again.
$(UV_READY): requirements-uv.lock
	@$(PYTHON) $(NEW_ENOUGH) || { \
		echo "setup: '$(PYTHON)' is not Python 3.11 or newer; name one: make setup PYTHON=python3.11" >&2; exit 1; }
	@echo "setup: creating $(VENV)"
	@{ $(BIN)/python $(NEW_ENOUGH) && $(BIN)/python -m pip --version; } >/dev/null 2>&1 || \
		$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@touch $@

# The lock pins the build backend too, where it names it.
$(INSTALLED): requirements.lock pyproject.toml | $(UV_READY)
	@echo "setup: installing the locked dependencies"
	@$(UV) pip sync -q --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps --build-constraints requirements.lock --editable .
	@touch $@
