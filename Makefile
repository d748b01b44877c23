# The one door: `make` lists what there is. Each target calls cargo or one of the two programs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Tests run against optimised programs without link-time optimisation; users get `release`.
PROFILE := e2e
BUILT := target/$(PROFILE)
VENV := target/venv
PYTHON ?= python3
# As cargo spells it in the names of its variables: X86_64_UNKNOWN_LINUX_GNU.
HOST = $(shell rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
# cargo-nextest runs tests faster; plain `cargo test` does where it is missing.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)

# OpenSSL is one of the TLS engines where its development files are (Debian: libssl-dev, pkg-config).
OPENSSL := $(shell pkg-config --modversion 'openssl >= 3' 2>/dev/null)
ifneq ($(OPENSSL),)
FEATURES := --features openssl
WITH_OPENSSL := , openssl ($(OPENSSL))
else
WITH_OPENSSL := ; not openssl, whose development files are missing
endif

.PHONY: help bench test test-rust test-interop test-tools test-long lint ci perf serve certs data fmt doc clean build release engines

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

bench: release certs/server-ec.pem data/taxi.feather ## Measure DoGet and DoPut: plaintext, TLS with EC, TLS with RSA-4096
	@target/release/flight-bench quick --server-bin target/release/flight-server \
	    --certs certs --data data --dataset taxi

perf: $(VENV)/ready ## Measure beside stock arrow-flight, pyarrow and raw sockets: docs/performance.md, docs/security-cost.md
	cargo build --release --workspace $(FEATURES) --bins
	@started=$$SECONDS; target/release/flight-perf --write docs/performance.md; \
	    target/release/flight-perf --page security --write docs/security-cost.md; \
	    echo "perf: $$(((SECONDS - started + 59) / 60)) minutes, without the build"

test: test-rust test-interop ## Build and pass: unit, property, end-to-end and interop tests

test-rust: build # --workspace everywhere: with -p, features differ and much is built twice
ifeq ($(NEXTEST),yes)
	cargo nextest run --cargo-profile $(PROFILE) --workspace $(FEATURES) --no-fail-fast
else
	cargo test --profile $(PROFILE) --workspace $(FEATURES) --no-fail-fast
endif

test-interop: build $(VENV)/ready
	FLIGHT_SERVER_BIN=$(CURDIR)/$(BUILT)/flight-server FLIGHT_BENCH_BIN=$(CURDIR)/$(BUILT)/flight-bench \
	    $(VENV)/bin/python -m pytest -q -p no:cacheprovider -c tests/interop/pytest.ini tests/interop

test-long: build $(VENV)/ready ## What takes longer: large inputs, more random moments; results go to docs/long-tests.txt
	FEATURES='$(FEATURES)' tests/long.sh $(BUILT) $(VENV)/bin/python

lint: ## Formatting, clippy, rustdoc and the tidy test; warnings are errors
	cargo fmt --all --check
	cargo clippy --profile $(PROFILE) --workspace $(FEATURES) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --profile $(PROFILE) --workspace $(FEATURES) --no-deps --document-private-items
	cargo test --profile $(PROFILE) --workspace $(FEATURES) --test tidy

test-tools: build ## Tests that need more tools: strace and valgrind
	@for tool in strace valgrind; do command -v $$tool >/dev/null \
	    || { echo "$$tool is missing; install it: apt-get install $$tool" >&2; exit 1; }; done
	cargo test --profile $(PROFILE) --workspace $(FEATURES) --test strace
	# The files that hold `unsafe`, and what stands on them, with every access to memory watched;
	# registers exact at each, for threads that go on after a SIGBUS.
	CARGO_TARGET_$(HOST)_RUNNER="valgrind -q --error-exitcode=9 \
	    --vex-iropt-register-updates=allregs-at-mem-access" \
	    cargo test --profile $(PROFILE) --workspace $(FEATURES) --lib -- mapped pool:: socket::
	cargo build --profile $(PROFILE) --workspace $(FEATURES) --example instructions --example passthrough
	tests/instructions.sh $(BUILT)

ci: lint test test-tools ## Everything that must pass before a change lands
	@echo "ci: all passed"

serve: release certs/server-ec.pem data/taxi.feather ## Serve data/ on grpc://127.0.0.1:8815
	target/release/flight-server serve --data data

certs: certs/server-ec.pem ## Write development certificates to certs/

certs/server-ec.pem: | release
	target/release/flight-server certs --out certs

data: data/taxi.feather ## Write sample datasets to data/

data/taxi.feather: | release
	target/release/flight-server sample taxi --rows 2000000 --seed 1 --out $@

build: engines
	cargo build --profile $(PROFILE) --workspace $(FEATURES)

release: engines # What users run; --workspace, so that what `perf` builds beside it has the same features
	cargo build --release --workspace $(FEATURES) --bin flight-server --bin flight-bench

engines:
	@echo 'TLS engines: aws-lc, ring$(WITH_OPENSSL)'

$(VENV)/ready: tests/interop/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

fmt: ## Format the code
	cargo fmt --all

doc: ## Build the libraries' documentation
	cargo doc --workspace --no-deps

clean: ## Remove what was built and generated
	cargo clean
	rm -f certs/*.pem certs/*.key data/*.feather data/*.parquet
