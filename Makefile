# Entry points for developers and CI. Each target installs its prerequisites and rebuilds only what changed.

SHELL := /bin/bash
CARGO ?= cargo
# Built-in tools: each crate with a component.
GUESTS := $(patsubst tools-wasm/%/src/component.rs,%,$(wildcard tools-wasm/*/src/component.rs))
TEST_GUESTS := commander conformance holder impostor insider keeper kinds misbehave newer newer-program newer-service offering outsider program service
GUEST_OUT := tools-wasm/target/wasm32-unknown-unknown/release
COMPONENTS := target/components
BINARY := target/release/scorpiox-code
HOME_DIR := $(or $(SCORPIOX_HOME),$(HOME)/.scorpiox)

.DEFAULT_GOAL := help
.PHONY: help build image demo test check conformance test-agents test-peers test-registry test-suites test-team test-upgrade test-windows windows dist test-dist test-packages bench load reading lint fuzz install clean prerequisites components test-components

help: ## Show these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

prerequisites:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing; install Rust 1.95 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (SQLite needs it); on Debian and Ubuntu: apt-get install build-essential" >&2; exit 1; }

# wasmtime is built twice: with its compiler for scorpiox-compiler, and as a runtime for the programs that run
# components. Each variant is built in one command with all packages that use it, so that cargo always selects
# the same features. The host embeds the packed compiler and the sandbox helper; make detects when these
# change, but cargo does not.
components: prerequisites
	@scripts/build-guests.sh tools-wasm & guests=$$!; \
		scripts/build-helper.sh $(COMPONENTS)/helper && \
		$(CARGO) build --quiet --release -p scorpiox-compiler && \
		$(CARGO) build --quiet --release -p scorpiox-definitions -p scorpiox-code --bin scorpiox-definitions; host=$$?; \
		wait $$guests && exit $$host
	@target/release/scorpiox-compiler --out $(COMPONENTS) \
		$(foreach guest,$(GUESTS),$(guest)=$(GUEST_OUT)/$(subst -,_,$(guest)).wasm)
	@target/release/scorpiox-definitions $(COMPONENTS) $(GUESTS)
	@scripts/hash-components.sh $(COMPONENTS) $(GUESTS)
	@scripts/pack-compiler.sh target/release/scorpiox-compiler $(COMPONENTS)/compiler.gz

build: components ## Build the program: target/release/scorpiox-code
	@$(CARGO) build --release -p scorpiox-definitions -p scorpiox-code

demo: build ## Show a real session with the real program
	@python3 tests/demo/demo.py $(BINARY)

test: prerequisites ## Run all tests
	@tests/run.sh

check: build test-components ## Before a commit: format, clippy, dependencies, tests of what changed, documents
	@scripts/lint.sh
	@scripts/test-changed.sh
	@cd tests && $(CARGO) test --quiet --test e2e -- documents::

conformance: build test-components ## Run the protocol's official conformance suite against the program
	@tests/conformance/run.sh $(BINARY)

# Not part of `make test`: the agents are 2 GB of packages. Each agent starts the server, and also connects to
# one over HTTP. CLIENT=codex runs one agent, and TRANSPORT=http one transport.
test-agents: build test-components ## Run the agents that people use against the program (CLIENT=codex: one)
	@tests/clients/agents/run.sh $(BINARY) $(if $(CLIENT),--client $(CLIENT)) $(if $(TRANSPORT),--transport $(TRANSPORT))

# Also part of `make test`.
test-team: build test-components ## Run what concerns a team's server: PostgreSQL, replicas, limits, probes, collectors
	@tests/team/run.sh

# Not part of `make test`: it requires the program of an older version.
test-upgrade: build ## Replace servers of an older version one by one under load, and back (OLDER=path of its program)
	@test -x "$(abspath $(OLDER))" || { echo "say which program is the older one: make test-upgrade OLDER=/path/to/scorpiox-code" >&2; exit 1; }
	@cd tests && SCORPIOX_OLDER_BINARY="$(abspath $(OLDER))" $(CARGO) test --quiet --test e2e -- --nocapture http::busy::servers_are_replaced

# Not part of `make test`: it downloads and builds third-party code. PEER=ripgrep runs one peer.
test-peers: build ## Run programs that others wrote as plugins (PEER=ripgrep: one)
	@tests/peers/run.sh $(BINARY) $(PEER)

# Not part of `make test`: it downloads a registry and its client.
test-registry: build test-components ## Push plugins to a real registry, and pull what others push
	@tests/registry/run.sh $(BINARY)

windows: build ## Build the program for Windows: target/x86_64-pc-windows-gnu/release/scorpiox-code.exe
	@scripts/build-for.sh x86_64-pc-windows-gnu $(COMPONENTS) $(GUESTS)

# Not part of `make test`: it compiles everything again.
test-windows: windows test-components ## Run the tests for Windows under Wine
	@tests/windows/run.sh

# Builds for each system of DIST_TARGETS. The packages are reproducible.
dist: build ## Make all packages: target/dist (DIST_TARGETS="…" for some systems, DIST_KEY=… to sign)
	@scripts/dist.sh $(COMPONENTS) $(GUESTS)

# Not part of `make test`: it requires the output of `make dist`.
test-dist: ## Install each package that `make dist` made for this system, as a user would
	@tests/dist/run.sh

# Not part of `make test`: it downloads the tools of users, and an empty Debian.
test-packages: build ## Pack the program for this system, install each package as a user would, and call a tool
	@tests/dist/packages.sh

# Built without a daemon. The same program and the same Debian packages yield the same bytes.
image: build ## Make an image for containers: target/image (an OCI layout, and the same as one file)
	@scripts/image.sh $(BINARY)

# Guests for tests.
test-components: components
	@scripts/build-guests.sh tests/guests
	@target/release/scorpiox-compiler --out target/test-components \
		$(foreach guest,$(TEST_GUESTS),$(guest)=tests/guests/target/wasm32-unknown-unknown/release/$(subst -,_,$(guest)).wasm)

bench: build test-components ## Measure against the C floor and the rmcp echo: target/bench.txt
	@tests/bench/run.sh

# Not part of `make test`: it takes more than an hour, and requires an idle machine. tests/load/soak.sh is the
# soak test of one hour.
load: build ## Measure how many calls servers answer, over SQLite and PostgreSQL: target/load (ROWS=… for some rows)
	@tests/load/run.sh $(BINARY) $(ROWS)

# Not part of `make test`: the suites are large, and not part of the repository.
test-suites: prerequisites ## Read whole suites of pages and images (SCORPIOX_DATA=their folder)
	@tests/suites/run.sh

# Not part of `make test`: it builds third-party extractors, and the pages are not part of the repository.
reading: ## Show how well pages are read, beside other extractors (SCORPIOX_DATA=folder of suites)
	@tests/reading/run.sh

lint: build ## Check format, clippy, dependencies
	@scripts/lint.sh

fuzz: components ## Fuzz every parser for a minute each (FUZZ_SECONDS=60)
	@tests/fuzz/run.sh

install: build ## Install to ~/.scorpiox/scorpiox-code
	@install -d "$(HOME_DIR)"
	@install -m 755 $(BINARY) "$(HOME_DIR)/scorpiox-code.new" && mv "$(HOME_DIR)/scorpiox-code.new" "$(HOME_DIR)/scorpiox-code"
	@echo "installed $(HOME_DIR)/scorpiox-code; next: $(HOME_DIR)/scorpiox-code doctor"

clean: ## Remove everything that was built
	rm -rf target tools-wasm/target tests/target tests/guests/target tests/fuzz/target
	rm -rf tests/clients/.venv tests/clients/node_modules tests/clients/node/node_modules tests/clients/agents/node_modules tests/conformance/node_modules
