# The project's verbs. They work in an environment of their own, .venv, which they make.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: install systems demo format lint test test-everywhere interpreters judge docs
.PHONY: fuzz fuzz-core leaks memcheck mutants soak coverage
.PHONY: wheel-pure dist bench bench-quick bench-gateway clean

install: $(BIN)/python ## the compiled package, with what it is developed and tested with
	@# niquests' urllib3-future puts itself in urllib3's place, unless it is built with this.
	URLLIB3_NO_OVERRIDE=1 $(BIN)/pip install -q --disable-pip-version-check --no-binary urllib3-future --group dev
	$(BIN)/pip install -q --disable-pip-version-check --force-reinstall --no-deps .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade "pip>=25.1"

SYSTEMS := $(VENV)/litellm/installed $(patsubst %,tests/node/%/node_modules/installed,ai judge pyodide tools)

systems: $(BIN)/python $(SYSTEMS) ## what the tests run beside the package

# LiteLLM's proxy brings half a gigabyte and pins of its own, so it has an environment to itself.
$(VENV)/litellm/installed: tests/litellm/requirements.txt
	$(PYTHON) -m venv $(VENV)/litellm
	$(VENV)/litellm/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

tests/node/%/node_modules/installed: tests/node/%/package-lock.json
	npm --prefix tests/node/$* ci --silent --no-audit --no-fund --ignore-scripts
	touch $@

demo: install ## the main job, on a stream that comes with the project
	$(BIN)/rapidsse parse --json-data examples/chat.sse

format:
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: install
	cargo fmt --check
	cargo clippy -q --all-targets -- -D warnings
	cargo clippy -q --all-targets --no-default-features -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest rapidsse._rapidsse

test: install systems ## the core, then the installed package with both backends, then the pure one alone
	cargo test -q --no-default-features
	$(BIN)/python -m pytest -q
	RAPIDSSE_BACKEND=python $(BIN)/python -m pytest -q --ignore tests/judges

test-everywhere: install ## installed wheels on every interpreter found, or on those that ONLY names
	$(BIN)/python tools/everywhere.py $(ONLY)

interpreters: install ## fetches what the machine lacks of them, for test-everywhere
	$(BIN)/pip install -q --group dist
	$(BIN)/python tools/interpreters.py fetch

judge: install tests/node/judge/node_modules/installed ## a browser and eventsource-parser on Node, over 2,000 random streams
	RAPIDSSE_JUDGE_STREAMS=2000 $(BIN)/python -m pytest -q tests/judges

docs: install ## the site, into target/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict -d target/site

fuzz: install fuzz-core ## the judges against the core and both backends: at random for an hour, and guided by coverage
	RAPIDSSE_FUZZ_SECONDS=3600 $(BIN)/python -m pytest -q tests/test_law_against_judge.py
	$(BIN)/pip install -q "atheris>=3"
	mkdir -p target/fuzz/atheris
	$(BIN)/python fuzz/atheris_parser.py target/fuzz/atheris -dict=fuzz/sse.dict -max_len=160 -runs=1000000

# libFuzzer, without a sanitizer, so that a stable toolchain does; `cargo +nightly fuzz` has them.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
GUIDED = -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Ccodegen-units=1
RUNS ?= 10000000
FUZZ = RUSTFLAGS="$(GUIDED)" cargo run -q --release --manifest-path fuzz/Cargo.toml \
	--target $(HOST) --target-dir target/fuzz --bin

fuzz-core: ## the core against its judge, ten million times
	mkdir -p target/fuzz/parser target/fuzz/encoder
	$(FUZZ) parser -- target/fuzz/parser fuzz/corpus/parser -dict=fuzz/sse.dict -max_len=80 -runs=$(RUNS)
	$(FUZZ) encoder -- target/fuzz/encoder -max_len=200 -runs=$(RUNS)

# Tests that measure time or memory, or run other systems, would tell nothing of what is covered.
UNCOVERED = linear bounded leaks soak litellm vercel_ai pyodide gateway gateway_nginx gateway_page

coverage: install ## of the Python part, by branches, and of the core, by lines
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q $(UNCOVERED:%=--ignore tests/test_%.py) --ignore tests/judges
	RAPIDSSE_BACKEND=python $(BIN)/coverage run -m pytest -q tests/test_items.py tests/test_backend_choice.py
	$(BIN)/coverage combine -q
	$(BIN)/coverage report
	command -v cov >/dev/null || cargo install -q llvm_profparser
	$(BIN)/python tests/core_coverage.py

mutants: ## each small change to the core that a test must notice
	command -v cargo-mutants >/dev/null || cargo install -q cargo-mutants
	cargo mutants --no-shuffle

soak: install ## 1,000 streams at once for ten minutes
	$(BIN)/python tests/soak.py

leaks: install ## a million of everything made and dropped
	RAPIDSSE_LEAK_TIMES=1000000 $(BIN)/python -m pytest -q tests/test_leaks.py

memcheck: install ## the compiled module under valgrind
	PYTHONMALLOC=malloc valgrind -q --error-exitcode=9 --suppressions=tests/valgrind.supp $(BIN)/python tests/memcheck.py

wheel-pure: install ## the wheel without the compiled module, for every other platform
	$(BIN)/python tools/pure_wheel.py dist

dist: install ## what is released from this machine, built and checked
	$(BIN)/pip install -q --group dist
	$(BIN)/python tools/dist.py

bench: install ## every figure of benches/RESULTS.md
	$(BIN)/pip install -q -r benches/requirements.txt
	$(BIN)/python benches/run.py

bench-quick: install ## under two minutes, Python only
	$(BIN)/pip install -q -r benches/requirements.txt
	$(BIN)/python benches/run.py --quick

bench-gateway: install ## what a parser costs a gateway, every figure of benches/gateway/RESULTS.md
	$(BIN)/pip install -q -r benches/gateway/requirements.txt
	$(BIN)/python benches/gateway/run.py

clean:
	rm -rf $(VENV) target dist tests/node/*/node_modules
