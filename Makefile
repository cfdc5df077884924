# What a developer does here. `make help` lists it; CONTRIBUTING.md explains it.
.DEFAULT_GOAL := help
.PHONY: setup build demo test check bench sim soak lint format clean help

PYTHON := .venv/bin/python
JOBS   ?= $(shell nproc)

setup: ## Install packages and .venv on a Debian 12 machine (root for packages); does nothing twice
	@tools/setup.sh

build: setup ## Build the release preset; afterwards .venv/bin/runnel is the command
	@mkdir -p build/logs
	@cmake --preset release >build/logs/configure.log 2>&1 || { cat build/logs/configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS)

demo: build ## Run the examples end to end and print one table
	@examples/demo.sh

# The stages are run by Debian's Python; a bare machine gets it with the rest of the set-up.
/usr/bin/python3:
	@tools/setup.sh

test: /usr/bin/python3 ## Everything that must hold before a change goes in, with the time of each stage
	@/usr/bin/python3 tools/test.py $(ARGS)

check: setup ## What the last change touches, in about five minutes: a glance before a commit
	@/usr/bin/python3 tools/check.py $(ARGS)

bench: build ## Compare with bare loops and other systems (installs the peers)
	@tools/setup.sh --bench
	@$(PYTHON) bench/run.py $(ARGS)

sim: build ## 200,000 simulated schedules
	@tools/sim.sh 200000 $(ARGS)

soak: build ## Long runs: 2,000,000 schedules, planted bugs, 100 kills, 10 minutes of each fuzzer
	@tools/soak.sh

lint: setup ## Format check, our own tidy and clang-tidy
	@/usr/bin/python3 tools/test.py --only format,tidy,clang-tidy

format: setup ## Lay out all C++ sources in place
	@/usr/bin/python3 tools/format.py --fix

clean: ## Remove everything built; .venv stays
	@rm -rf build

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
