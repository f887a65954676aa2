# The verbs of the project. Each works in the active environment (`make install` fills it).
.PHONY: install format lint test test-pure bench bench-quick fuzz

PYTHON ?= python3

install: ## build the compiled module in release mode and install the package with its development tools
	$(PYTHON) -m pip install -q --upgrade "pip>=25.1"
	$(PYTHON) -m pip install -q --group dev
	$(PYTHON) -m pip install -q --force-reinstall --no-deps .

format:
	cargo fmt
	ruff format .
	ruff check --fix -q .

lint:
	cargo fmt --check
	cargo clippy -q --all-targets -- -D warnings
	cargo clippy -q --all-targets --no-default-features -- -D warnings
	ruff check .
	ruff format --check .
	mypy
	$(PYTHON) -m mypy.stubtest rapidsse._rapidsse

test: ## the core, then the package with both backends
	cargo test -q --no-default-features
	$(PYTHON) -m pytest -q
	$(MAKE) test-pure

test-pure:
	RAPIDSSE_BACKEND=python $(PYTHON) -m pytest -q

bench:
	$(PYTHON) benches/run.py

bench-quick:
	$(PYTHON) benches/run.py --quick

fuzz: ## the naive judge against both backends, for an hour
	RAPIDSSE_FUZZ_SECONDS=3600 $(PYTHON) -m pytest -q tests/test_law_against_judge.py
