# Development and demonstration. "make help" lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
TESTBED := tests/testbed/testbed
# The programs of .venv come first, so that Ansible, Molecule and the tests use one another.
export PATH := $(CURDIR)/$(BIN):$(PATH)
SCENARIOS ?= $(filter-out shared,$(notdir $(patsubst %/,%,$(wildcard molecule/*/))))

.PHONY: help demo demo-down test plan-test tools lint units masters package awx sanity system molecule failures demo-failures bench docs lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo: ## two test hosts on this machine: master, store node, two instances of vLLM on one pool
	@tests/testbed/demo up

demo-down: ## remove what "make demo" made
	@tests/testbed/demo down

plan-test:
	@echo "make test installs on this machine, where it is missing (nothing else is changed):"
	@tests/tools/prepare_controller plan test
	@tests/tools/real_masters plan
	@$(TESTBED) plan | sed 's/^/  /'

test: plan-test tools ## everything, two at a time (JOBS=1: one after the other); needs root, for the test hosts
	$(TESTBED) prepare
	tests/tools/side_by_side system-pool demo-failures $(SCENARIOS:%=molecule-%) system-python_stack system-source sanity units lint package awx masters
	@echo "make test: all passed"

tools: ## install the tools into .venv
	@tests/tools/prepare_controller install test

lint: tools ## ansible-lint, yamllint, ruff, mypy, shellcheck, changelog
	ruff check .
	ruff format --check .
	mypy plugins tests
	yamllint --strict .
	shellcheck --external-sources --source-path=SCRIPTDIR $$(git grep -lE '^#!.*(bash|/sh)$$')
	antsibull-changelog lint
	ansible-lint --offline --profile production

units: tools ## unit tests, with coverage
	pytest tests/unit --cov --cov-report=term

package: tools ## build the collection, and use it from the tarball
	pytest tests/package

awx: tools ## what is for AWX, against AWX's own modules; the execution environment; a signed project
	pytest tests/awx

sanity: tools ## ansible-test sanity
	tests/tools/sanity

masters: tools ## the modules against real masters of three Mooncake versions, on this machine
	tests/tools/real_masters test

system: tools ## bad input and failures, on real test hosts
	$(TESTBED) prepare
	pytest -vv --durations=10 tests/system

# Tests of one file that have hosts of their own, or all the others, whose hosts are the same.
system-pool: tools
	pytest -vv --durations=10 tests/system --ignore=tests/system/test_source.py --ignore=tests/system/test_python_stack.py

system-%: tools
	pytest -vv --durations=10 tests/system/test_$*.py

molecule: tools ## every scenario, two at a time; SCENARIOS="release mooncake" for some
	$(TESTBED) prepare
	tests/tools/side_by_side $(SCENARIOS:%=molecule-%)

molecule-%: tools
	tests/tools/molecule_scenario $*

failures: tools ## what happens when the master, a store node, an instance fail, on the hosts of "make demo"
	pytest -vv --capture=no tests/failures

demo-failures: tools ## "make demo", "make failures" and "make demo-down"
	tests/testbed/demo up
	pytest -vv --capture=no tests/failures
	tests/testbed/demo down

bench: tools ## how long things take, on the hosts of "make demo"; BENCH="npus" for some subjects
	tests/tools/bench $(BENCH)

docs: tools ## generate the reference pages
	python tests/tools/release_docs.py > docs/releases.md
	python tests/tools/pool_docs.py
	python tests/tools/lock_docs.py > docs/locks.md

lock: tools ## resolve the locks of Python packages that no longer fit their release; LOCKS="--all" for all
	python tests/tools/locks.py $(LOCKS)
	python tests/tools/lock_docs.py > docs/locks.md

clean: ## remove the tools and caches (not the test hosts: "make demo-down", "testbed purge --yes")
	rm -rf .venv .cache dist .mypy_cache .ruff_cache
