# make quickstart   trains a translator in a few minutes (the first time it installs what it needs)
# make test         linter, type check, tests
# make test ROOM=search   linter and tests of one room, src/multihead/search and tests/search; no type check
# make bench        benchmarks, one after the other
# make torture      runs the long tests, injects every fault into trainings and run folders (half an hour), and records
#                   what was lost
# make speedrun     raw text to a translator in MINUTES=2, everything counted, from three seeds; needs DATA=data/multi30k
# make bench-peers RUN=runs/de-en SRC=test.de TGT=test.en   the same beside other toolkits, on the same weights
# make bench-peers-training   training beside other toolkits, each in an environment of its own
# make bench-gpu DATA=data/multi30k   training and translating on a GPU of NVIDIA's, beside the peers that are installed
# make course       runs the course (docs/course) and writes its notebooks and pages to build/course
# make wasm         compiles the engine of exported pages (native/page.cpp) to WebAssembly; needs clang 19 and lld
# make wheel        the sdist and a wheel for every Python (on Linux: manylinux), in dist/; needs a C++ compiler
# make docs         writes the documentation as one site to build/docs; after `make course` with the figures of the course
# make images RUNS=runs   makes the images of docs/images anew, as far as their runs are there
# make clean        removes what was installed and built
# make PYTHON=python3.12 ...   with another Python

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TRAINS := $(VENV)/.trains
INSTALLED := $(VENV)/.installed
ENVS := benchmarks/peers/.envs
PEERS := eole joeynmt
BENCHMARKS := $(filter-out benchmarks/record.py benchmarks/torture.py benchmarks/fuzz_readers.py benchmarks/kept_words.py benchmarks/single_words.py benchmarks/where_time_goes.py,$(wildcard benchmarks/*.py))

.PHONY: quickstart test lint suite bench speedrun torture bench-peers bench-peers-training bench-gpu course docs images wasm wheel clean

quickstart: $(TRAINS)
	$(BIN)/multihead quickstart

ifdef ROOM
test: $(INSTALLED)
	@test -d tests/$(ROOM) || { echo "no folder tests/$(ROOM); rooms: $(notdir $(patsubst %/,%,$(wildcard tests/*/)))" >&2; exit 2; }
	$(BIN)/ruff check $(wildcard src/multihead/$(ROOM) src/multihead/$(ROOM).py) tests/$(ROOM)
	$(BIN)/ruff format --check $(wildcard src/multihead/$(ROOM) src/multihead/$(ROOM).py) tests/$(ROOM)
	$(BIN)/python -m pytest tests/$(ROOM)
else
test: lint suite
endif

# Each worker begins with neighbouring files, so that a module's model is trained once, and takes the others' last tests
# when it is done. The commands that tests start find compiled code, whatever the user's shell says.
suite: $(INSTALLED)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

course: $(INSTALLED)
	$(INSTALL) -e ./packages/documents -e '.[dev,course]'
	$(BIN)/python docs/course/build.py

docs: $(INSTALLED)
	$(INSTALL) -e ./packages/documents -e '.[dev,course,serve]'
	$(BIN)/python docs/site/build.py

RUNS ?= runs
images: $(INSTALLED)
	$(INSTALL) -e '.[browser,serve,identify]'
	$(BIN)/python docs/images.py $(RUNS)

# One that cannot run here (no Chromium, no corpus) says why, and the others go on.
bench: $(INSTALLED)
	@failed=; for script in $(BENCHMARKS); do \
	  echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "not measured:$$failed" >&2; exit 1; }

torture: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist worksteal -m long
	$(BIN)/python benchmarks/torture.py
	$(BIN)/python docs/tables.py

bench-peers: $(INSTALLED)
	$(INSTALL) -e ./packages/documents -e '.[dev,export]'
	$(BIN)/python benchmarks/peers/translation.py $(RUN) --src $(SRC) --tgt $(TGT)

# A peer that cannot be installed is left out of the benchmark, and named there.
bench-peers-training: $(INSTALLED)
	-$(MAKE) --keep-going $(PEERS:%=$(ENVS)/%/.installed)
	$(BIN)/python benchmarks/peers/training.py

DATA ?= data/multi30k
MINUTES ?= 2
speedrun: $(INSTALLED)
	for seed in 1 2 3; do \
	  $(BIN)/python benchmarks/minutes_to_bleu.py --data-dir $(DATA) --minutes $(MINUTES) --seed $$seed || exit 1; \
	done

# Each part writes its file when it ends: one that fails does not take the others with it.
bench-gpu: $(INSTALLED)
	-$(BIN)/python benchmarks/training_speed.py --device cuda --sizes multi30k base big --tokens 16384 --count 8
	-$(BIN)/python benchmarks/peers/training.py --device cuda --sizes multi30k base --tokens 16384 --count 8 \
	  --out results/bench-training-peers-cuda.json
	$(BIN)/python benchmarks/minutes_to_bleu.py --data-dir $(DATA) --recipe multi30k-de-en \
	  --keep runs/bench-gpu --out results/bench-minutes-cuda.json
	$(BIN)/python benchmarks/peers/translation.py runs/bench-gpu --device cuda --threads 4 \
	  --src $(DATA)/test_2016_flickr.de.gz --tgt $(DATA)/test_2016_flickr.en.gz --out results/bench-translation-cuda.json

$(ENVS)/%/.installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Installed anew only when the list of what is needed, or the native part, has changed: what training needs, with the
# kernels of this processor alone, and what the tests need, with those of all.
NEEDED := pyproject.toml packages/documents/pyproject.toml constraints.txt setup.py $(wildcard native/*)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
$(TRAINS): $(NEEDED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "multihead needs Python 3.11 or later, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Give another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "installing into $(VENV); PyTorch is large, so this takes a while the first time"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@MULTIHEAD_LEVELS=here $(INSTALL) --no-compile -e '.[train]'
	@touch $@

$(INSTALLED): $(TRAINS)
	@echo "installing what the tests need"
	@MULTIHEAD_LEVELS=all $(INSTALL) -e ./packages/documents -e '.[dev]'
	@touch $@

# The result is part of the package, so users need no compiler. On Debian: clang-19 lld-19 wasi-libc
# libc++-19-dev-wasm32 libclang-rt-19-dev-wasm32. wasm-ld is called directly: clang would run any wasm-opt it finds.
WASM := src/multihead/apps/export/page/engine.wasm
WASM_CXX ?= clang++-19
WASM_LD ?= wasm-ld-19
WASM_FLAGS := --target=wasm32-wasi -std=c++17 -O2 -msimd128 -mnontrapping-fptoint -fno-exceptions -fno-rtti \
  -fno-math-errno -fwrapv -fvisibility=hidden
WASM_OBJECT := build/page.o

wasm:
	mkdir -p build
	$(WASM_CXX) $(WASM_FLAGS) -c native/page.cpp -o $(WASM_OBJECT)
	$(WASM_LD) --no-entry --export-dynamic --gc-sections --strip-all --keep-section=producers -z stack-size=262144 \
	  $(WASM_OBJECT) -L/usr/lib/wasm32-wasi -lc \
	  "$$($(WASM_CXX) --target=wasm32-wasi -print-libgcc-file-name)" -o $(WASM)
	@echo "$(WASM): $$(wc -c < $(WASM)) bytes, compiled by $$($(WASM_CXX) --version | head -n 1)"

# The wheel is built from the sdist. Its platform tag is the oldest glibc that auditwheel finds its symbols need.
# PyTorch, on which the package depends, brings libgomp.so.1; a second copy would be a second pool of threads.
wheel: $(INSTALLED)
	rm -rf build/dist
	$(BIN)/uv build --quiet --python $(BIN)/python --out-dir build/dist .
	$(BIN)/uv build --quiet --python $(BIN)/python --out-dir build/dist/documents packages/documents
	mkdir -p dist
	cp build/dist/*.tar.gz build/dist/documents/*.tar.gz build/dist/documents/*.whl dist
	@if ls build/dist/*-any.whl >/dev/null 2>&1; then \
	  echo "no compiler, so a wheel without the native part:"; cp -v build/dist/*.whl dist; \
	elif test "$$(uname)" = Linux; then PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair \
	  --exclude libgomp.so.1 --wheel-dir dist build/dist/*.whl; \
	else cp -v build/dist/*.whl dist; fi

clean:
	rm -rf $(VENV) benchmarks/peers/.work $(ENVS) build dist src/*.egg-info packages/*/build packages/*/src/*.egg-info src/multihead/*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis
