# All targets work in a fresh clone with only Python >= 3.11 and make.
# The first target prints the help, which is made from the "##" comments.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
KUBERNETES ?= 1.36
BACKEND ?= default

.DEFAULT_GOAL := help
.PHONY: help check test test-matrix soak chaos demo demo-containers image release bench bench-cluster bench-runtime bench-cli bench-dashboard page screenshots crds chart reference situations docs fmt lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
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

check: $(STAMP) ## Lint, types, import rules and unit tests (three minutes)
	@echo "1/4 lint and format (ruff)"
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet .
	@echo "2/4 types (mypy)"
	@$(VENV)/bin/mypy
	@echo "3/4 import rules (import-linter)"
	@$(VENV)/bin/lint-imports --no-logo
	@echo "4/4 unit tests (pytest, without a cluster)"
	@$(PY) -m pytest -q -m "not cluster and not browser" --numprocesses 2

test: check ## check, then the tests on a real control plane
	@$(PY) -m local_cluster build kubernetes-$(KUBERNETES) kwok kai
	@$(PY) -m pytest -q -m "cluster and not matrix" --numprocesses 3 --dist loadfile || { \
	  echo; echo "Running the failed tests again: on a busy machine a deadline may pass. A second failure counts."; \
	  $(PY) -m pytest -m "cluster and not matrix" --last-failed --last-failed-no-failures none; }

test-matrix: $(STAMP) ## Test other schedulers and Kubernetes minors (PARTS="kai 1.37", MINUTES=60)
	@$(PY) -m tests.matrix $(PARTS) $(if $(MINUTES),--minutes $(MINUTES))

soak: $(STAMP) ## Scale and update a set for a long time; check memory and leftovers (MINUTES=30)
	@$(PY) -m tests.soak $(if $(MINUTES),--minutes $(MINUTES))

chaos: $(STAMP) ## Change and break things at random; check minAvailable (MINUTES=30, SEED=...)
	@$(PY) -m tests.soak --chaos $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

demo: $(STAMP) ## Start a real cluster on this machine and run gangs on it (DEMO=ci: stop at the end)
	@$(PY) -m local_cluster demo $(if $(filter ci,$(DEMO)),--once)

demo-containers: $(STAMP) ## Build the image, install it with Helm on a real node, run a gang (root, on Debian)
	@$(PY) -m local_cluster demo --containers $(if $(filter ci,$(DEMO)),--once)

image: $(STAMP) ## Build the image, with a base from debootstrap (root, on Debian)
	@$(PY) -m local_cluster image

bench: $(STAMP) ## Benchmark the product: 1,000 pods in 500 gangs, compared with a bare client (BACKEND=kai)
	@$(PY) -m benchmarks.product --backend $(BACKEND)

bench-cluster: $(STAMP) ## Benchmark the control plane alone: the baseline of other benchmarks
	@$(PY) -m local_cluster bench --kubernetes $(KUBERNETES)

bench-runtime: $(STAMP) ## Benchmark the client and the controller runtime, compared with common libraries
	@$(PY) -m benchmarks.runtime

bench-cli: $(STAMP) ## Benchmark kubectl gang in a cluster with 10,000 pods
	@$(PY) -m benchmarks.command_line

bench-dashboard: $(STAMP) ## Measure the dashboard with 2,000 gangs in a real browser
	@$(PY) -m tests.dashboard.measure

page: $(STAMP) ## Bundle the dashboard into one script and one style sheet (needs npm)
	@$(PY) -m tests.dashboard.bundle

screenshots: $(STAMP) ## Make the pictures of docs/dashboard.md in a real browser
	@$(PY) -m tests.dashboard.screenshots

release: $(STAMP) ## Write the files of a release to dist/ (IMAGE=registry.example.com/podgang, DRY_RUN=1)
	@$(PY) -m releasing $(if $(IMAGE),--image $(IMAGE)) $(if $(DRY_RUN),--dry-run)

situations: $(STAMP) ## Write what kubectl shows in tests/situations again, from a real cluster
	@GOLDEN=write $(PY) -m pytest -q -m cluster tests/situations

crds: $(STAMP) ## Generate crds/ from the models
	@$(PY) -m crdgen

chart: $(STAMP) ## Generate deploy/chart from the manifests in deploy/
	@$(PY) -m chartgen

reference: $(STAMP) ## Generate docs/reference/ and deploy/monitoring/ from models, settings and metrics
	@$(PY) -m tests.docs.settings_pages
	@$(PY) -m tests.docs.metrics_page
	@$(PY) -m tests.docs.api_page
	@$(PY) -m tests.docs.capabilities_page
	@$(PY) -m tests.docs.watches_page
	@$(PY) -m tests.docs.cli_page
	@$(PY) -m tests.docs.navigation
	@$(PY) -m monitoring

docs: $(STAMP) ## Build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet --site-dir build/site

fmt: $(STAMP) ## Format the code
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format --quiet .

lock: $(STAMP) ## Update requirements.lock from pyproject.toml
	@$(PY) -m pip install --quiet uv
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements.lock pyproject.toml
	@$(PY) deploy/image/runtime_lock.py

clean: ## Stop clusters of this project; remove .venv and build output (not the build cache)
	@if [ -x $(PY) ]; then $(PY) -m local_cluster down --all; fi
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
