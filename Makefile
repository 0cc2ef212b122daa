# `make help` lists the targets.  Each sets the environment up first, if it is not: Python 3.11 to 3.13 with
# venv is all it takes.
.DEFAULT_GOAL := help
SHELL := /bin/bash
RUN := .venv/bin
PROJECTS := $(wildcard pyproject.toml */pyproject.toml plugins/*/pyproject.toml examples/*/pyproject.toml)
READY := .venv/.ready
DISTRIBUTIONS := core collector server testkit $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml examples/*/pyproject.toml))

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: $(READY) ## record a real Ray cluster, kill it, and browse it (Ctrl-C ends)
	$(RUN)/rayhist demo

.PHONY: demo-check
demo-check: $(READY) ## the same without waiting: compare the replay with what the workload made
	$(RUN)/rayhist demo --check

.PHONY: fidelity
fidelity: $(READY) ## compare what a live dashboard answers with what its replay answers, after three endings
	$(RUN)/python -m rayhist_testkit.fidelity $(ARGS)

.PHONY: bench-collector
bench-collector: $(READY) ## measure what the collector costs: processor time, memory, latency, beside the limits
	$(RUN)/python -m rayhist_testkit.bench $(ARGS)

.PHONY: test
test: $(READY) ## run every test: real Ray, real S3, a real browser
	tools/setup-system.sh
	$(RUN)/pytest -m "not services" -n 2
	$(RUN)/pytest -m "services and not cloud"
	$(MAKE) test-clouds

.PHONY: test-clouds
test-clouds: $(READY) ## run the tests of every storage backend against servers that they start themselves
	tools/setup-system.sh
	$(RUN)/pytest -m cloud -p rayhist_testkit.clouds

.PHONY: test-fast
test-fast: $(READY) ## run the tests that start no service, in under 20 s
	$(RUN)/pytest -m "not services and not rayhist_slow" -n 2 --hypothesis-profile=fast

.PHONY: check
check: $(READY) ## lint, types, import contracts, declared dependencies, sizes, docs
	$(RUN)/uv lock --check --quiet
	$(RUN)/ruff check
	$(RUN)/ruff format --check
	$(RUN)/mypy
	$(RUN)/lint-imports
	@for folder in $(DISTRIBUTIONS); do echo "deptry $$folder" && $(RUN)/deptry --config $$folder/pyproject.toml \
	  --known-first-party "$$(basename $$folder/src/*)" $$folder/src || exit 1; done
	$(RUN)/python tools/check_sizes.py
	$(RUN)/python tools/reference.py --check

.PHONY: fmt
fmt: $(READY) ## format the code and fix what can be fixed
	$(RUN)/ruff format
	$(RUN)/ruff check --fix

.PHONY: docs
docs: $(READY) ## write the generated pages of the documentation
	$(RUN)/python tools/reference.py

.PHONY: clean
clean: ## remove the environment and everything generated
	rm -rf .venv out .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/bin/uv:
	"$$(tools/find-python.sh)" -m venv .venv
	$(RUN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

$(READY): .venv/bin/uv uv.lock $(PROJECTS)
	$(RUN)/uv sync
	@touch $@
