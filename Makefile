# People and CI call only these. Each sets up what it needs and rebuilds only what changed.

SHELL := /bin/bash
CARGO ?= cargo
TARGET := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
GUESTS := task-manager plan-mode set-callback invoke-skill read-docs read-image web-search
GUEST_OUT := tools-wasm/target/wasm32-unknown-unknown/release
COMPONENTS := target/components
BINARY := target/release/scorpiox-code
HOME_DIR := $(or $(SCORPIOX_HOME),$(HOME)/.scorpiox)

.DEFAULT_GOAL := help
.PHONY: help build demo test test-agents bench lint fuzz install clean prerequisites components test-components

help: ## Show these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

prerequisites:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing; install Rust 1.95 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing (SQLite needs it); on Debian and Ubuntu: apt-get install build-essential" >&2; exit 1; }

# The precompile step and the host share one build of their dependencies: both packages are
# named each time, so that cargo chooses the same features.
components: prerequisites
	@scripts/build-guests.sh tools-wasm & guests=$$!; \
		$(CARGO) build --quiet --release -p scorpiox-precompile -p scorpiox-code --bin scorpiox-precompile; host=$$?; \
		wait $$guests && exit $$host
	@target/release/scorpiox-precompile --target $(TARGET) --out $(COMPONENTS) \
		$(foreach guest,$(GUESTS),$(guest)=$(GUEST_OUT)/$(subst -,_,$(guest)).wasm)

build: components ## Build the program: target/release/scorpiox-code
	@$(CARGO) build --release -p scorpiox-precompile -p scorpiox-code

demo: build ## Show a real session with the real program
	@python3 tests/demo/demo.py $(BINARY)

test: build test-components ## Run all tests
	@tests/run.sh

# Not part of `make test`: the agents are 2 GB of packages. CLIENT=codex runs one.
test-agents: build test-components ## Run the agents that people use against the program (CLIENT=codex: one)
	@tests/clients/agents/run.sh $(BINARY) $(if $(CLIENT),--client $(CLIENT))

# Guests that only tests run.
test-components: components
	@scripts/build-guests.sh tests/guests
	@target/release/scorpiox-precompile --target $(TARGET) --out target/test-components \
		$(foreach guest,commander impostor insider kinds misbehave outsider program,$(guest)=tests/guests/target/wasm32-unknown-unknown/release/$(guest).wasm)

bench: build test-components ## Measure against the C floor and the rmcp echo: target/bench.txt
	@tests/bench/run.sh

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
	rm -rf tests/clients/.venv tests/clients/node_modules tests/clients/node/node_modules tests/clients/agents/node_modules
