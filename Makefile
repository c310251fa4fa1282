# kaged: `make run` starts the daemon on the demo project, `make test` runs the tests of a change.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
UV_VERSION := 0.13.8
PYTHON ?= $(shell .ci/find-python)
PORT ?= 7777
DATA ?= .kaged-data
PYTEST_FLAGS ?=
TEST_PROCESSES ?=
CORES = $(shell nproc 2>/dev/null || echo 2)
PROCESSES = $$(($(CORES) + 1))
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n $(or $(TEST_PROCESSES),$(PROCESSES)) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all test-nightly tools lint format screenshots bench dist openapi clients clients-typescript web lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## everything that running and testing need, once

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "kaged needs Python 3.11 or newer with the venv module; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up, once: a virtual environment in $(VENV), and the packages of requirements.lock in it (up to a minute)." >&2
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv $(VENV)
	@UV_VERSION=$(UV_VERSION) .ci/install-packages $(BIN)/python
	@touch $(STAMP)

run: setup ## start the daemon on a throwaway copy of the demo project (no key needed)
	@.ci/fresh-demo "$(DATA)"
	@$(BIN)/kaged serve --config examples/demo/config.toml --trust --project "$(DATA)/demo" --data-dir "$(DATA)/daemon" --port "$(PORT)"

test: setup ## run the tests of a change, as far as this machine can (PYTEST_FLAGS="-k name" for some, TEST_PROCESSES=0 one by one)
	@$(PYTEST) -m "not slow and not nightly" $(PYTEST_FLAGS)

# Half of what these do is waiting: for servers, for limits of time, for kills.
test-all test-nightly: PROCESSES = $$((2 * $(CORES)))
test-all: setup ## run those and kills, soaks, races, attacks, every language server and debug adapter
	@$(PYTEST) -m "not nightly" $(PYTEST_FLAGS)

test-nightly: setup ## run what takes too long for the continuous integration
	@KAGED_NIGHT=1 $(PYTEST) -m nightly $(PYTEST_FLAGS)

tools: setup ## install what further tests use: system packages (asks for sudo), debug adapters, language servers, tools of deployment
	@.ci/system-packages
	@.ci/debug-adapters
	@.ci/language-servers
	@.ci/deployment-tools

lint: setup ## format, lint, types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## rewrite the code in the one format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

screenshots: setup ## take the pictures of the page anew, for its tests and for the documentation
	@KAGED_NIGHT=1 KAGED_PICTURES=anew $(BIN)/pytest -q -m nightly tests/e2e/test_page_pictures.py

bench: setup ## measure (NAME=turn_overhead for one figure)
	@$(BIN)/python -m bench $(NAME)

dist: setup ## build the wheel and the sdist of the commit, reproducibly
	@rm -rf dist
	@$(BIN)/hatchling build --target sdist --target wheel --directory dist

openapi: setup ## write openapi/openapi.json and openapi/events.schema.json
	@$(BIN)/kaged openapi --write openapi

clients: openapi ## write those documents and the generated part of clients/python
	@cd clients/python && $(CURDIR)/$(BIN)/python -m generator

clients-typescript: openapi ## write those documents and the generated part of clients/typescript
	@cd clients/typescript && npm ci --ignore-scripts --no-audit --no-fund && node generate.mjs

web: ## build the page from web/ into app/api/web/built (needs node; what is built is committed)
	@cd web && npm ci --ignore-scripts --no-audit --no-fund && npm run check && npm run build

lock: setup ## resolve the dependencies anew, and list those of the images
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra dev --extra build --extra python-lsp --upgrade --output-file requirements.lock pyproject.toml
	@$(MAKE) --no-print-directory setup
	@$(BIN)/python docker/image/locked.py write

clean: ## remove the virtual environment, caches and the demo's data
	@rm -rf $(VENV) "$(DATA)" .language-servers .debug-adapters .deployment-tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
