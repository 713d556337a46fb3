# Everything a contributor runs. Each target sets up .venv itself, once: Python 3.11+, g++ and make are all it needs.

PYTHON ?= python3
TORCH ?= 2.13.0
# Not the number of cores: a container may see those of its host. Each process takes a gigabyte.
JOBS ?= 2

venv := .venv
python := $(venv)/bin/python
installed := $(venv)/.installed
core := $(python) -m oneop._build.core >/dev/null
cxx_dirs := $(wildcard csrc src/oneop/include examples tests benchmarks)
cxx_files = $(shell find $(cxx_dirs) -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh')

# Some container images set it. Then every program that a test starts would compile all of oneop's Python again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup core runtime demo test test-slow test-quick test-engine test-hosts coverage corpus torture lint format bench docs dist wheels sanitize sanitize-core sanitize-gpu clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(installed) ## make .venv with torch, the tools and this checkout

core: $(installed) ## build the C++ core, showing what the compiler says
	$(python) -m oneop._build.core -v

runtime: ## build build/liboneop_runtime.so, behind oneop/runtime.h; needs neither torch nor .venv
	PYTHONPATH=src $(PYTHON) -m oneop.hosts.build runtime -o build

demo: $(installed) ## build an op, call it, train with it
	@$(core)
	@$(python) examples/demo.py

test: $(installed) ## run the tests, all but those of test-slow
	@$(core)
	$(python) -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

test-slow: $(installed) ## run the tests marked slow: more values, ops and examples of what the others look at
	@$(core)
	$(python) -m pytest -n $(JOBS) --dist worksteal -m slow $(ARGS)

# Definitions, calls, gradients and jobs in one process each: no compilers of torch's, no second rank, few C++ builds.
quick := model ods/test_read_ops.py ods/test_limits.py test_layers.py test_wording.py test_settings.py test_bad_input.py \
  $(addprefix core/test_,arguments.py attribute_values.py autograd.py plans.py user_op.py registry.py transforms.py) \
  $(addprefix authoring/test_,define.py grad.py schema.py infer_rules.py digest.py) $(addprefix jobs/test_,graph.py calls.py)

test-quick: $(installed) ## run the tests that take less than a minute in all
	@$(core)
	$(python) -m pytest -q -n $(JOBS) --dist worksteal $(addprefix tests/,$(quick)) $(ARGS)

test-engine: ## build the C++ engine and run its tests; needs neither torch nor .venv
	$(PYTHON) tests/engine/build.py

# JAX=0.10.2 adds that version of jax, ONNX=1.31.1 that of onnxruntime (and onnx: 100 MB), in an environment of their own.
hosts := build/hosts$(if $(JAX),-jax-$(JAX))$(if $(ONNX),-onnx-$(ONNX))
hosts_packages := numpy ml_dtypes pytest hypothesis platformdirs filelock PyYAML $(if $(JAX),"jax[cpu]==$(JAX)") \
  $(if $(ONNX),onnx onnxruntime==$(ONNX))

test-hosts: ## run the tests of hosts in an environment without torch; JAX=0.10.2 for those of JAX too, ONNX=1.31.1 for ONNX Runtime
	test -x $(hosts)/bin/python || $(PYTHON) -m venv $(hosts)
	$(hosts)/bin/python -m pip install --quiet --disable-pip-version-check $(hosts_packages)
	PYTHONPATH=src $(hosts)/bin/python -m pytest -q tests/hosts $(ARGS)

coverage: $(installed) ## measure what make test covers, in Python and in C++; ARGS="tests/core" for some tests, ARGS=--slow for all
	$(python) -m tests.measure $(ARGS)

corpus: $(installed) ## check 108 wrong and 76 right ops; says which faults are missed
	@$(core)
	RUN_CORPUS=1 $(python) -m pytest -n $(JOBS) -v --tb=line -p no:logging tests/testing/corpus $(ARGS)

torture: $(installed) ## random work in many processes and threads; MINUTES=20 SEED=1 ARGS="--area calls"
	@$(core)
	$(python) -m tests.torture --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED)) $(ARGS)

lint: $(installed) ## check style and types of Python and C++
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy
	@$(if $(cxx_files),$(venv)/bin/clang-format --dry-run -Werror $(cxx_files))

format: $(installed) ## put Python and C++ into the style that lint checks
	$(python) -m ruff check --fix-only .
	$(python) -m ruff format .
	@$(if $(cxx_files),$(venv)/bin/clang-format -i $(cxx_files))

bench: $(installed) ## measure against torch's own ways to make an op
	@$(python) -c 'import ninja, tvm_ffi' 2>/dev/null || \
	  $(python) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[bench]"
	@$(core)
	@$(python) -m benchmarks $(ARGS)

docs: $(installed) ## build the documentation; a warning is an error
	@$(python) -c 'import furo, myst_parser, sphinx' 2>/dev/null || \
	  $(python) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[docs]"
	$(python) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

dist: $(installed) ## build sdist and wheel, and try the wheel in an environment of its own
	@$(core)
	rm -rf build dist
	$(python) -c 'from setuptools import build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")' >/dev/null
	$(PYTHON) tests/smoke.py dist $(python)

wheels: $(installed) ## build a wheel for each Python with a compiled core for each torch, and try them; ARGS="--torch 2.13"
	@$(python) -c 'import auditwheel' 2>/dev/null || $(python) -m pip install --quiet --disable-pip-version-check auditwheel
	$(python) -m tools.wheels $(ARGS)

sanitize: $(installed) ## run the SDK tests under the address and undefined-behaviour sanitizers
	ONEOP_TEST_CXXFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -g -O1" \
	  $(python) -m pytest tests/sdk $(ARGS)

sanitize-core: $(installed) ## run torture with a core compiled for the thread sanitizer, then the address sanitizer; MINUTES=5
	for sanitizer in thread address; do \
	  $(python) -m tests.torture --area calls --area jobs --sanitizer $$sanitizer --minutes $(or $(MINUTES),5) \
	    $(if $(SEED),--seed $(SEED)) $(ARGS) || exit 1; done

sanitize-gpu: $(installed) ## run the GPU tests under compute-sanitizer; needs a CUDA device
	@$(core)
	$(python) -m pytest -q tests/gpu
	for tool in memcheck racecheck; do \
	  compute-sanitizer --tool $$tool --target-processes all --error-exitcode 1 \
	    $(python) -m pytest -q tests/gpu -m "gpu and not gpu_fault" $(ARGS) || exit 1; done

clean: ## remove what these targets made in the checkout; the cache stays
	rm -rf $(venv) build dist src/*.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch first and by its exact version, so that nothing after it chooses another one.
$(installed): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "oneop needs Python 3.11 or newer; set PYTHON=")'
	@echo "setting up $(venv) (torch $(TORCH), tools, the core) ..."
	test -x $(python) || $(PYTHON) -m venv $(venv)
	$(python) -m pip install --quiet --disable-pip-version-check torch==$(TORCH)
	$(python) -m pip install --quiet --disable-pip-version-check "setuptools>=77" torch==$(TORCH)
	$(python) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]" torch==$(TORCH)
	@$(core) || echo "the core is built at its first use"
	@touch $@
