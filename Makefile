# Every target sets up what it needs from a bare checkout: Python 3.11 or newer and make are all that must be there.

PYTHON ?= python3
JOBS ?= 3
RUNS ?= 20
SEED ?= 1
PG ?= 14
UPGRADE ?=
RELEASES ?=
PYTEST_FLAGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
TESTS := $(BIN)/pytest -n $(JOBS) --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast test-postgres check format lock chaos mutations bench crds chart-docs docs site clean \
  cluster cluster-down cluster-programs far-ends kind images plugin screenshots

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(READY) ## Send one campaign to 2,000 people, once, through kills, and prove it
	$(BIN)/python -m sendonce_cli.demo

test: cluster-programs far-ends ## Run all tests (PYTEST_FLAGS="-k pace" for some, JOBS=1 for one at a time)
	$(TESTS) $(PYTEST_FLAGS)

test-fast: $(READY) ## Run the unit tests: no database, no network
	$(BIN)/pytest tests/unit $(PYTEST_FLAGS)

test-postgres: $(READY) ## Run the integration tests on another PostgreSQL (PG=14 to 18)
	SENDONCE_TEST_PG_BIN="$$($(BIN)/python tools/fetch_postgres.py $(PG))" && export SENDONCE_TEST_PG_BIN && \
	  $(TESTS) tests/integration $(PYTEST_FLAGS)

check: $(READY) ## Lint, check formatting, types, imports, sizes, the CRDs, the lock files, Dockerfiles, workflows, chart
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/sizes.py
	$(BIN)/python -m sendonce_store.spec.crd --check crds/
	$(BIN)/python tools/lock.py --check
	$(BIN)/hadolint Dockerfile.*
	$(BIN)/python -m tools.workflows
	$(BIN)/python -m tools.chart check
	$(BIN)/python -m tools.plugin --check

format: $(READY) ## Format, and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(READY) ## Lock the dependencies anew after a change in pyproject.toml (UPGRADE=1 for newer versions)
	$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

chaos: $(READY) ## Send through random faults and judge by the far end's ledger (RUNS=n SEED=s)
	$(BIN)/python tests/chaos/run.py --runs $(RUNS) --seed $(SEED) --jobs $(JOBS)

mutations: $(READY) ## Take each rule out of the code, and see that its tests notice
	$(BIN)/python tests/mutations/run.py --jobs $(JOBS)

cluster: $(READY) ## Bring up a genuine Kubernetes on this machine, with the chart installed (docs/cluster.md)
	$(BIN)/python -m tools.cluster up --product

cluster-down: $(READY) ## Take it down; nothing of it is left
	$(BIN)/python -m tools.cluster down

cluster-programs: $(READY) ## Build the programs of Kubernetes that the tests can use here, once
	$(BIN)/python -m tools.cluster build --for-tests

far-ends: $(READY) ## Build the S3 server that the tests import from, once
	$(BIN)/python -m tools.versitygw

kind: $(READY) ## The same with kind, where Docker is there
	$(BIN)/python -m tools.cluster kind --product

images: $(READY) ## Build the product's images, as archives in build/images/
	$(BIN)/python -m tools.cluster images

plugin: $(READY) ## Write kubectl campaign as one file, and krew's archive and manifest, into build/plugin (RELEASES=URL)
	$(BIN)/python -m tools.plugin $(if $(RELEASES),--releases $(RELEASES))

crds: $(READY) ## Write crds/ anew from the models of the spec, and the chart's copies
	$(BIN)/python -m sendonce_store.spec.crd crds/
	$(BIN)/python -m tools.chart write

chart-docs: $(READY) ## Write the chart's README.md and values.schema.json anew from its values.yaml
	$(BIN)/python -m tools.chart write

docs: $(READY) ## Write the generated pages anew: docs/cli.md, docs/providers.md, docs/resources.md
	$(BIN)/python -m sendonce_cli.reference > docs/cli.md
	$(BIN)/python -m sendonce_worker.providers.doc docs/providers.md console/sendonce_console/classification.json
	$(BIN)/python -m sendonce_store.spec.crd.reference > docs/resources.md

site: $(READY) build/site-venv/.installed ## Build the site of docs/ in build/site; warnings are errors
	$(BIN)/python -m tools.site build/site-venv/bin/zensical

screenshots: $(READY) ## Take the pictures of docs/console.md anew, from a real run on this machine (needs Chromium)
	$(BIN)/python -m tools.screenshots

bench: $(READY) ## Measure side by side with peers; writes build/bench.json
	$(BIN)/python tests/bench/run.py

clean: ## Remove the environment, caches and what was built
	rm -rf $(VENV) build dist .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two stamps, so that a change of a tool's settings in pyproject.toml does not go through all the dependencies.
$(VENV)/.dependencies: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sendonce needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "python3 -m venv does not work here; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

build/site-venv/.installed: requirements/docs.txt
	@test -x build/site-venv/bin/python || $(PYTHON) -m venv build/site-venv
	build/site-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@

$(READY): $(VENV)/.dependencies pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
