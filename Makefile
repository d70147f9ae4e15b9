# In a fresh clone: make report measures and builds a page, make test runs every check.
# Another interpreter or version of JAX: make PYTHON=python3.12 report, make JAX=0.7.2 test

PYTHON ?= python3
JAX ?=
EXTRAS ?=
GRID ?= quick
COMMITS ?= HEAD~10..HEAD
BASE ?= HEAD~1
HEAD ?= HEAD
METRIC ?=
CASE ?=

# Settings are text, never code. Recipes read them from the environment, in quotes, as "$$BASE".
# If a setting contained $(shell ...), Make would run this code when it exports the setting to a
# recipe. Therefore Make must not expand the text of variables given on the command line.
override SETTINGS := PYTHON JAX EXTRAS GRID COMMITS BASE HEAD METRIC CASE
override name :=
override as_text = $(eval override $(1) := $$(value $(1)))
$(foreach name,$(SETTINGS),$(call as_text,$(name)))
$(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(call as_text,$(name))))
export $(SETTINGS)

override RUN := .venv/bin/python
override STORE := "$${VCJAX_BENCH_STORE:-results/records}"

.DEFAULT_GOAL := help
.PHONY: help report bench page commits history review bisect closure compare situations workshop docs packages test lint lock hooks clean

help: ## List these targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

report: bench ## Measure the checked-out commit (with GRID=full nearly every case) and build the page
	@$(MAKE) --no-print-directory page

bench: env-report ## Measure only, without a page; rerun to resume after an interruption
	@$(RUN) -m benchmarks.measuring.run --grid="$$GRID"

page: env-report ## Build the page from the records in the store
	@$(RUN) -m reports build --store $(STORE) --out results/report

commits: env-report ## Measure COMMITS=HEAD~10..HEAD in each JAX version of asv.conf.json; build the history page
	@$(RUN) -m benchmarks.measuring.run --grid small --commits="$$COMMITS"
	@$(MAKE) --no-print-directory history

history: env-report ## Build the page of every metric across the measured commits
	@$(RUN) -m reports history --store $(STORE) --out results/history

review: env-report ## Measure HEAD and BASE=HEAD~1 interleaved, and compare them
	@$(RUN) -m tools.review -- "$$BASE" "$$HEAD"

bisect: env-report ## Find the commit after BASE at which the exact METRIC of CASE changed
	@$(RUN) -m benchmarks.measuring.bisect -- "$$METRIC" "$$CASE" "$$BASE" "$$HEAD"

closure: env-report ## Measure the closure study (with GRID=full also large sizes) and build its page
	@$(RUN) -m studies closure --grid="$$GRID"
	@$(RUN) -m reports closure

compare: env-report ## Compare vcjax with the C++ package, cold and in the steady state (docs/compare.md)
	@$(RUN) -m studies compare

situations: env-test ## Check jaxmeter on programs with known captured arrays, with the installed JAX
	@$(RUN) -m studies situations --out results/situations

workshop: env-report ## Check the workshop's exercises in order and show the next one
	@$(RUN) -m workshop

docs: env-docs ## Run the lessons, build the site in results/site, and check its links
	@$(RUN) -m sphinx -q -W --keep-going -j 2 -b html -d results/site-trees docs results/site
	@$(RUN) -m tools.check_site results/site

# With -I, Python ignores PYTHONPATH and the current folder, so that it imports only packages that are
# installed, and pip installs all of them.
override CLEAN := build/packages/clean/bin
packages: env-packages ## Build both packages, check them, and try them in a clean environment
	rm -rf build/packages
	$(RUN) -m build --outdir build/packages/dist jaxmeter
	$(RUN) -m build --outdir build/packages/dist .
	$(RUN) -m twine check --strict build/packages/dist/*
	$(RUN) -m venv build/packages/clean
	$(CLEAN)/python -I -m pip install --quiet build/packages/dist/*.whl
	$(CLEAN)/python -I -W error tools/trial.py
	$(CLEAN)/python -I $(CLEAN)/jaxmeter --help

test: style ## Run every check: ruff and import-linter, then pyright and pytest in parallel
	@$(MAKE) --no-print-directory -j2 pyright pytest

lint: style ## Run ruff, import-linter and pyright
	@$(MAKE) --no-print-directory pyright

.PHONY: style pyright pytest
style: env-test
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache

pyright:
	@$(RUN) -m pyright --pythonpath $(RUN)

pytest: # a third worker on two cores saves no time, because each worker collects all tests
	@$(RUN) -m pytest -n 2 --dist worksteal

lock: env-lock ## Write the installed versions to locks/, so that new environments get these versions
	@$(RUN) tools/environment.py --write-lock

hooks: env-test ## Install the checks as git hooks
	@$(RUN) -m pip install --quiet pre-commit && $(RUN) -m pre_commit install

clean: ## Remove environments, results and caches
	rm -rf .venv .asv results build jaxmeter/build .pytest_cache .ruff_cache *.egg-info jaxmeter/src/*.egg-info

.PHONY: env-report env-test env-docs env-lock env-packages
env-report:
	@"$$PYTHON" tools/environment.py bench report --optional reference --jax="$$JAX"

env-lock:
	@"$$PYTHON" tools/environment.py bench report test docs package --also="$$EXTRAS" --optional reference --jax="$$JAX"

env-packages:
	@"$$PYTHON" tools/environment.py package --jax="$$JAX"

env-docs:
	@"$$PYTHON" tools/environment.py bench report docs --optional reference --jax="$$JAX"

env-test:
	@"$$PYTHON" tools/environment.py bench report test --also="$$EXTRAS" --optional reference --jax="$$JAX"
