# make setup    the tools, in .venv               make demo     a real tournament, in under a minute
# make test     the test suite                    make lint     style, types, layers
# make check    the arena's own check of every game, agent and sandbox
# make system   what Debian packages give: sandboxes, the Core War engine (root or sudo)
# make bench    how fast it plays                 make lock     pin the dependencies anew
# make clean    remove what the others made, runs in results/ excepted

# Debian's own Python first: a shim of a version manager may stand before it on the PATH and name none that works.
PYTHON ?= $(shell for p in /usr/bin/python3 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
BIN := .venv/bin
STAMP := .venv/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
PACKAGES := bubblewrap docker.io mmdebstrap dpkg-dev gcc libc6-dev git make patch nodejs python3-venv

.PHONY: setup demo test lint check system system-packages system-docker bench lock clean

setup: $(STAMP) ; @:

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "setup: no Python 3.11 or newer here: apt-get install python3, or make PYTHON=/path/to/python3"; exit 3; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "setup: $(PYTHON) can't make virtual environments: apt-get install python3-venv"; exit 3; }
	@echo "setup: installing into .venv (some seconds; the log is .venv/setup.log)"
	@$(BIN)/python -c '' 2>/dev/null || { rm -rf .venv && $(PYTHON) -m venv .venv; }
	@# What builds the others comes first: one of them has no wheel, and nothing unpinned is to build it.
	@sed -n '/^\(packaging\|setuptools\|wheel\)==/,/[^\\]$$/p' requirements.lock > .venv/build.lock
	@{ $(PIP) install --require-hashes -r .venv/build.lock \
	&& $(PIP) install --require-hashes --no-build-isolation -r requirements.lock \
	&& $(PIP) install --no-deps --no-build-isolation -e . ; } > .venv/setup.log 2>&1 \
	|| { cat .venv/setup.log; echo "setup: failed, see above"; exit 1; }
	@touch $@

demo: setup
	$(BIN)/arena run examples/demo/battlesnake.yaml
	@if missing=$$($(BIN)/arena games ready corewar 2>&1); then $(BIN)/arena run examples/demo/corewar.yaml; \
	else echo "Core War left out: $${missing#error: }"; fi
	@sh examples/demo/next.sh

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: setup
	$(BIN)/arena check all

system: system-packages system-docker setup
	$(BIN)/arena images show >/dev/null 2>&1 || $(BIN)/arena images build
	$(BIN)/arena games ready corewar 2>/dev/null || $(BIN)/arena games setup corewar

system-packages:
	$(SUDO) apt-get update -q
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(PACKAGES)

system-docker:
	@$(SUDO) docker info >/dev/null 2>&1 || { echo "starting dockerd, which logs to /var/log/dockerd.log"; \
	$(SUDO) sh -c 'pidof dockerd >/dev/null || rm -f /var/run/docker.pid; \
	pidof containerd >/dev/null || rm -f /var/run/docker/containerd/containerd.pid; \
	setsid dockerd >/var/log/dockerd.log 2>&1 </dev/null &'; }
	@for _ in $$(seq 60); do $(SUDO) docker info >/dev/null 2>&1 && exit 0; sleep 1; done; \
	$(SUDO) tail -n 20 /var/log/dockerd.log; echo "system: dockerd does not answer"; exit 3

bench: setup
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

lock:
	rm -rf .venv/lock && $(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install -q pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" .venv/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe \
	--strip-extras --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
	--extra dev --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './results/*' -prune -exec rm -rf {} +
