# Everything here works from a fresh clone with only Python >= 3.11 and make.
# The first target prints this file's own help, taken from the "##" comments.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
KUBERNETES ?= 1.36
BACKEND ?= default

.DEFAULT_GOAL := help
.PHONY: help check test test-matrix soak chaos demo bench bench-cluster bench-runtime crds reference docs fmt lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  The first run builds a Kubernetes control plane from source (about 10 minutes on"
	@echo "  2 cores) into your cache directory; later runs start in seconds."

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Installing the locked dependencies into $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

check: $(STAMP) ## Lint, types, import rules and unit tests (seconds)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo
	@$(PY) -m pytest -q -m "not cluster" --numprocesses 2

test: check ## check, then everything on a real control plane
	@$(PY) -m local_cluster build kubernetes-$(KUBERNETES) kwok kai
	@$(PY) -m pytest -q -m "cluster and not matrix" --numprocesses 3 --dist loadfile || { \
	  echo; echo "Once more, only what failed: on a busy machine a deadline may pass in vain. A second failure counts."; \
	  $(PY) -m pytest -m "cluster and not matrix" --last-failed --last-failed-no-failures none; }

test-matrix: $(STAMP) ## The other schedulers and Kubernetes minors (PARTS="kai 1.37", MINUTES=60)
	@$(PY) -m tests.matrix $(PARTS) $(if $(MINUTES),--minutes $(MINUTES))

soak: $(STAMP) ## Scale and update a set for long; watch memory and leftovers (MINUTES=30)
	@$(PY) -m tests.soak $(if $(MINUTES),--minutes $(MINUTES))

chaos: $(STAMP) ## Anything at random for long; watch the minimum (MINUTES=30, SEED=...)
	@$(PY) -m tests.soak --chaos $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

demo: $(STAMP) ## A real cluster on this machine, and gangs on it (DEMO=ci: ends by itself)
	@$(PY) -m local_cluster demo $(if $(filter ci,$(DEMO)),--once)

bench: $(STAMP) ## The product's benchmark: 1,000 pods in 500 gangs, beside a bare client (BACKEND=kai)
	@$(PY) -m benchmarks.product --backend $(BACKEND)

bench-cluster: $(STAMP) ## What this control plane can do: the yardstick of later benchmarks
	@$(PY) -m local_cluster bench --kubernetes $(KUBERNETES)

bench-runtime: $(STAMP) ## What the client and the controller runtime cost, beside the usual ways
	@$(PY) -m benchmarks.runtime

crds: $(STAMP) ## Write crds/ anew from the models
	@$(PY) -m shared_api.crdgen

reference: $(STAMP) ## Write docs/reference/ and deploy/monitoring/ anew from models and declarations
	@$(PY) -m core_operator.settings_page
	@$(PY) -m backend_controllers.settings_page
	@$(PY) -m tests.docs.metrics_page
	@$(PY) -m tests.docs.api_page
	@$(PY) -m tests.docs.capabilities_page
	@$(PY) -m tests.docs.navigation
	@$(PY) -m monitoring

docs: $(STAMP) ## Build the documentation into build/site
	@$(PY) -m mkdocs build --strict --quiet --site-dir build/site

fmt: $(STAMP) ## Format the code
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format --quiet .

lock: $(STAMP) ## Renew requirements.lock from pyproject.toml
	@$(PY) -m pip install --quiet uv
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements.lock pyproject.toml
	@$(PY) deploy/image/runtime_lock.py

clean: ## Stop clusters of this project; remove the environment and build output (not the compile cache)
	@if [ -x $(PY) ]; then $(PY) -m local_cluster down --all; fi
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
