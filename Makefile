# Every target installs what it needs, and only when that is missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SANITIZED := build/sanitize
SMALL := build/small
WHEELS := build/wheels
WHEEL_TEST := build/wheel-test
KERNEL := CMakeLists.txt $(wildcard kernel/*.cpp kernel/*.hpp)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Requirements of an extra, one per line: installing them does not build the kernel again.
LIST_EXTRA := import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  print(*project["optional-dependencies"][sys.argv[1]], sep="\n")

.PHONY: demo train test lint types check sanitize smoke wheel small wheel-test fuzz docs bench solvable clean

demo: BLOCKS := examples/blocksworld/domain.pddl examples/blocksworld/p100.pddl
demo: $(VENV)/.installed
	@mkdir -p build
	@echo "==> The problem: 100 blocks"
	$(BIN)/saltus info $(BLOCKS)
	@echo "==> Planning with the bundled policy, trained on problems with at most 20 blocks (about ten seconds)"
	$(BIN)/saltus plan $(BLOCKS) --plan-file build/demo.plan
	@echo "==> The first actions of the plan"
	head -n 5 build/demo.plan
	@echo "==> Checking the plan with the independent validator"
	$(BIN)/saltus validate $(BLOCKS) build/demo.plan
	@echo "==> Done. Next: . $(BIN)/activate, then saltus --help, or the tutorial in docs/tutorial.md"

# PyTorch, for training and GPUs.
train: $(VENV)/.extra-train

# The sanitized kernel is built while the other checks run, in the time that they leave; its compiler tells of errors.
test: $(VENV)/.extra-dev
	$(MAKE) -j 2 lint types check $(SANITIZED)/.built
	$(MAKE) sanitize

lint: $(VENV)/.extra-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror kernel/*.cpp kernel/*.hpp

types: $(VENV)/.extra-dev
	$(BIN)/mypy

check: $(VENV)/.extra-dev
	$(BIN)/python -m pytest -n 2

# The kernel's tests again, with the kernel built under address and undefined-behaviour sanitizers.
sanitize: $(VENV)/.extra-dev $(SANITIZED)/.built
	LD_PRELOAD="$$(for name in asan.so ubsan.so stdc++.so.6; do printf '%s ' $$(g++ -print-file-name=lib$$name); done)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc SALTUS_TEST_KERNEL="$$(ls $(CURDIR)/$(SANITIZED)/_kernel*.so)" \
	$(BIN)/python -m pytest -m kernel -n 2 -q

# The wheel; it takes the kernel that is built already.
wheel: $(VENV)/.installed
	rm -f $(WHEELS)/*.whl
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps -w $(WHEELS) .

# A small experiment, from training to report; what an earlier call left does not count.
smoke: $(VENV)/.extra-dev
	rm -rf build/smoke
	$(BIN)/saltus experiment experiments/smoke.toml --out build/smoke

# What works without PyTorch, in an environment that does not have it.
small: wheel
	$(PYTHON) -m venv $(SMALL)
	$(SMALL)/bin/python -m pip install --quiet -c constraints.txt hypothesis pytest $(WHEELS)/*.whl
	$(SMALL)/bin/python -m pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	! $(SMALL)/bin/python -c "import torch" 2> /dev/null
	$(SMALL)/bin/python -m pytest -q tests/test_without_pytorch.py

# The wheel in an empty environment, installed as containers do it: it plans, also as an engine of unified-planning.
wheel-test: wheel
	rm -rf $(WHEEL_TEST)
	PYTHON=$(PYTHON) containers/install $(WHEEL_TEST) $(WHEELS)/*.whl up
	$(WHEEL_TEST)/bin/python tools/check_wheel.py

# Mutated inputs of every kind for some minutes; what fails is saved in build/fuzz.
fuzz: MINUTES ?= 10
fuzz: $(VENV)/.extra-dev
	$(BIN)/python tools/fuzz.py --minutes $(MINUTES)

# The documentation site; a warning is an error.
docs: $(VENV)/.extra-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "==> The site is in build/site; to read it with search: $(BIN)/python -m http.server -d build/site"

# Figures against other libraries, and of planning against PyTorch.
bench: $(VENV)/.extra-bench
	$(BIN)/python benchmarks/read.py
	$(BIN)/python benchmarks/lookahead.py
	$(BIN)/python benchmarks/forward.py
	$(BIN)/python benchmarks/train_step.py
	$(BIN)/python benchmarks/start.py

# LAMA solves twenty small generated problems of every domain.
solvable: $(VENV)/.extra-dev $(VENV)/.extra-baselines
	SALTUS_FULL=1 $(BIN)/python -m pytest -n 2 tests/domains/test_solvable.py

$(BIN)/python:
	@echo "==> Creating $(VENV)"
	$(PYTHON) -m venv $(VENV)

# The package and what planning needs, nothing else.
$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt $(KERNEL)
	@echo "==> Installing the build tools"
	$(INSTALL) scikit-build-core nanobind ninja cmake
	@echo "==> Building the kernel and installing Saltus with its dependencies (a few minutes on a fresh machine)"
	$(INSTALL) --no-build-isolation -e .
	@touch $@

# The requirements of one extra of pyproject.toml on top.
$(VENV)/.extra-%: pyproject.toml constraints.txt | $(VENV)/.installed
	@echo "==> Installing the extra '$*'"
	@$(BIN)/python -c '$(LIST_EXTRA)' $* > $(VENV)/extra-$*.txt
	$(INSTALL) -r $(VENV)/extra-$*.txt
	@touch $@

$(SANITIZED)/.built: $(VENV)/.installed $(KERNEL)
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DSALTUS_SANITIZE=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) > /dev/null
	nice $(BIN)/cmake --build $(SANITIZED) --target _kernel > $(SANITIZED)/log 2>&1 || { cat $(SANITIZED)/log; exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
