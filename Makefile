# `make up` and `make test` are all that a newcomer needs. Each makes .venv when it is missing or older than its lock.
# The plain lines, without make, are in the README.

PY := .venv/bin/python
SUITABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))

.PHONY: up verify test bench check format lock
.DEFAULT_GOAL := up

up: .venv/.runtime        ## everything on this machine, until Ctrl-C; ARGS="--port 9000"
	@exec $(PY) manage.py up $(ARGS)

verify: .venv/.runtime    ## the same on empty data, held against the vendor's book, and stopped
	@exec $(PY) manage.py up --check $(ARGS)

test: .venv/.dev          ## all tests; ARGS="tests/local -x"
	@exec $(PY) -m pytest -n 3 $(ARGS)

bench: .venv/.dev         ## how fast it is, beside the limit; ARGS="steps effects --reps 3" PEERS="dbos langgraph absurd"
	@exec $(PY) -m tests.bench $(ARGS) $(if $(PEERS),--peers $(PEERS))

check: .venv/.dev         ## lint, format, types, import rules, templates
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo
	find templates -name '*.html' -exec .venv/bin/djade --target-version 5.2 --check {} +

format: .venv/.dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	find templates -name '*.html' -exec .venv/bin/djade --target-version 5.2 {} +

lock:                     ## after a change of requirements*.in; needs uv
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	    --custom-compile-command "make lock" requirements.in -o requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	    --custom-compile-command "make lock" -c requirements.txt requirements-dev.in -o requirements-dev.txt

.venv/.runtime: requirements.txt
	$(install)

.venv/.dev: requirements-dev.txt
	$(install)

# With uv where there is one, else with pip; never a package whose hash is not in the lock.
define install
@set -e; \
if [ ! -x $(PY) ]; then \
    for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
        "$$python" -c '$(SUITABLE)' 2>/dev/null && break || python=; \
    done; \
    [ -n "$$python" ] || { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=/path/to/python" >&2; exit 1; }; \
    echo "making .venv with $$($$python --version)"; \
    if command -v uv >/dev/null; then uv venv --quiet --python "$$(command -v $$python)" .venv; \
    else "$$python" -m venv .venv; fi; \
fi; \
echo "installing $<"; \
if command -v uv >/dev/null; then uv pip install --quiet --compile-bytecode --python $(PY) --require-hashes -r $<; \
else $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; fi; \
touch $@
endef
