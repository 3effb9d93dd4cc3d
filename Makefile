# Every target sets up what it needs, and only when it is missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SANITIZED := build/sanitize
KERNEL := CMakeLists.txt $(wildcard kernel/*.cpp kernel/*.hpp)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Peers and planners for comparisons; not needed to use or test the package.
BENCH_STAMP := $(VENV)/.bench

.PHONY: demo test lint types check sanitize bench bench-install solvable clean

demo: $(VENV)/.built
	$(BIN)/saltus info examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl
	$(BIN)/saltus plan examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl --plan-file build/demo.plan
	head -n 5 build/demo.plan
	$(BIN)/saltus validate examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl build/demo.plan

test: lint types check sanitize

lint: $(VENV)/.built
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror kernel/*.cpp kernel/*.hpp

types: $(VENV)/.built
	$(BIN)/mypy

check: $(VENV)/.built
	$(BIN)/python -m pytest -n 2

# The kernel's tests again, with the kernel built under address and undefined-behaviour sanitizers.
sanitize: $(VENV)/.built $(SANITIZED)/.built
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so) $$(g++ -print-file-name=libstdc++.so.6)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc SALTUS_TEST_KERNEL="$$(ls $(CURDIR)/$(SANITIZED)/_kernel*.so)" \
	$(BIN)/python -m pytest -m kernel -n 2 -q

bench: bench-install
	$(BIN)/python benchmarks/read.py
	$(BIN)/python benchmarks/lookahead.py
	$(BIN)/python benchmarks/forward.py
	$(BIN)/python benchmarks/train_step.py

# LAMA solves twenty small generated problems of every domain.
solvable: $(VENV)/.built
	$(INSTALL) --no-build-isolation -e ".[baselines]"
	SALTUS_FULL=1 $(BIN)/python -m pytest -n 2 tests/domains/test_solvable.py

bench-install: $(BENCH_STAMP)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.built: $(VENV)/bin/python pyproject.toml constraints.txt $(KERNEL)
	$(INSTALL) scikit-build-core nanobind ninja cmake
	$(INSTALL) --no-build-isolation -e ".[dev]"
	touch $@

$(BENCH_STAMP): $(VENV)/.built
	$(INSTALL) --no-build-isolation -e ".[bench]"
	touch $@

$(SANITIZED)/.built: $(VENV)/.built $(KERNEL)
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DSALTUS_SANITIZE=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) > /dev/null
	$(BIN)/cmake --build $(SANITIZED) --target _kernel
	touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
