# The project's verbs. They work in an environment of their own, .venv, which they make.
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: install systems demo format lint test test-everywhere interpreters judge docs fuzz wheel-pure dist
.PHONY: bench bench-quick bench-gateway clean

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

fuzz: install ## the naive judge against both backends, for an hour
	RAPIDSSE_FUZZ_SECONDS=3600 $(BIN)/python -m pytest -q tests/test_law_against_judge.py

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
