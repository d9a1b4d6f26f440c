# `make` lists the targets. Nothing but make, Python >= 3.11 and, on Debian or Ubuntu, apt-get
# is needed beforehand; everything made lies in .venv, .cache and Ivy's cache.

VENV  := .venv
PY    := $(VENV)/bin/python
STAMP := $(VENV)/.stamp
DBT   := .cache/dbt
JAVA_CLASSES := .cache/classes.jsa
# Three workers: two that meet Spark's tests own a JVM each, the third fills the gaps with the
# others (tests/support/spreading.py); loadfile keeps a module's session in one of them. The order
# is that of tests/conftest.py: the dearest files first.
PYTEST := $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 25

# Spark binds to the loopback alone, and its Python workers run on this environment.
export SPARK_LOCAL_IP := 127.0.0.1
export PYSPARK_PYTHON := $(abspath $(PY))

# Compiled once, not by each process that starts: to collect the tests takes a third of it then.
export PYTHONDONTWRITEBYTECODE :=

# Recipes that start Spark begin with this; the search takes a third of a second.
with_java = JAVA_HOME=$$(scripts/find-java) && export JAVA_HOME &&

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The targets share an environment and two cores: one after the other, whatever -j says.
.NOTPARALLEL:
.PHONY: help setup tools demo quick test costs laws spark proof soak check format reference bench figures lock clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1 /p' $(MAKEFILE_LIST) | \
	    while read -r name does; do printf '  %-7s %s\n' "$$name" "$$does"; done

setup: $(STAMP)-package  ## create .venv from requirements.txt, find or install Java, fetch Delta's jars
	@scripts/find-java --install >/dev/null
	@$(VENV)/bin/freshline jars --into .cache/jars >/dev/null

tools: setup  ## fetch what only tests need: the jars of a Kafka broker, promtool, chromium, dbt, an archive of Java classes
	@$(TOOLS_BESIDE) & beside=$$!; \
	$(with_java) $(PY) -m demo.kafka_jars && \
	{ $(MAKE) --silent --no-print-directory $(JAVA_CLASSES) 2>/dev/null \
	    || echo 'Java wrote no archive of classes: each start of Spark takes longer' >&2; }; \
	status=$$?; wait $$beside; exit $$status

# They wait for the network while Java works.
define TOOLS_BESIDE
{ command -v promtool >/dev/null || scripts/apt-install prometheus \
    || echo 'promtool is not installed: tests of docs/monitoring are skipped' >&2; \
command -v chromium >/dev/null || scripts/apt-install chromium \
    || echo 'chromium is not installed: tests of the page are skipped' >&2; \
$(MAKE) --silent --no-print-directory $(DBT)/.stamp 2>$(VENV)/.dbt-log \
    || echo 'dbt is not installed ($(VENV)/.dbt-log says why): its tests are skipped' >&2; }
endef

demo: $(if $(filter kafka,$(FEED)),tools,setup)  ## run the TPC-H warehouse: feeds, a kill, a restart, the check (three minutes); FEED=kafka
	@$(with_java) $(PY) -m demo $(if $(FEED),--feed $(FEED))

quick: setup  ## run the tests that need no Spark and are quick, for every save
	@$(PYTEST) --durations 0 --durations-min 5 -m "not spark and not slow" tests/unit tests/guards $(ARGS)

test: tools  ## run the tests, a sample of the long suites; ARGS="-k name" narrows it
	@$(with_java) FRESHLINE_COSTS=1 $(PYTEST) $(ARGS)

costs: setup  ## write tests/costs.json: what each file cost in the last make test
	@$(PY) -m scripts.write_test_costs

laws: setup  ## run the property tests alone, with more examples than test does
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) tests/laws $(ARGS)

spark: tools  ## run the tests that start Spark alone
	@$(with_java) $(PYTEST) -m spark $(ARGS)

proof: tools  ## run the long suites whole, for two hours at most; again goes on; PIECE=2/8
	@$(with_java) FRESHLINE_PROOF=$(or $(PIECE),all) FRESHLINE_PROOF_S=$(or $(SECONDS),7200) \
	    $(PYTEST) $(ARGS)

soak: setup  ## hurt a warehouse for half an hour, every table equal at the end: SECONDS=, SEED=; PART=gateway kills the push gateway 1,000 times (an hour)
ifneq ($(PART),gateway)
	@$(with_java) $(PY) -m tests.soak --seconds $(or $(SECONDS),1800) $(if $(SEED),--seed $(SEED)) $(ARGS)
else
	@FRESHLINE_KILLS=1000 FRESHLINE_FLIPS=10000 FRESHLINE_CUTS=1 FRESHLINE_SEED=$$$$ \
	    $(PY) -m pytest -n 2 --dist load --timeout 3600 tests/ingest $(ARGS)
endif

check: setup  ## check format, lint, types and imports
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy $(wildcard src tests scripts demo benchmarks experiments)
	$(VENV)/bin/lint-imports --no-logo --no-cache

format: setup  ## format, and repair what ruff can repair by itself
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

reference: setup  ## write the pages of docs/reference and ARCHITECTURE.md that follow from the code
	@$(PY) -m scripts.write_reference

bench: tools  ## measure; ratios within one run, written to benchmarks/results
	@$(with_java) $(PY) -m benchmarks

figures: setup  ## play the papers' experiments: ONLY=name for one, QUICK=1 in a minute, FULL=1 as the papers
	@$(PY) -m experiments $(ONLY) $(if $(FULL),--full) $(ARGS)

# The hashes pin the content, so no address needs to be in the file: any mirror will do.
lock: setup  ## write requirements.txt and requirements-dbt.txt again from pyproject.toml; ARGS=--upgrade for newer versions
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --group dev --group bench pyproject.toml --output-file requirements.txt $(ARGS)
	$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-strip-extras --group pyproject.toml:dbt --output-file requirements-dbt.txt $(ARGS)

clean:  ## remove what running leaves behind (.venv stays)
	rm -rf build dist demo-out spark-warehouse metastore_db derby.log .cache \
	    .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

# The steps of setup, each remembered by a file in .venv.

$(STAMP)-venv:
	@python=$$(scripts/find-python) && echo "Creating $(VENV) with $$python" && "$$python" -m venv $(VENV)
	@touch $@

$(STAMP)-packages: requirements.txt | $(STAMP)-venv
	@echo "Installing requirements.txt (a minute when nothing is cached)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --use-pep517 --require-hashes -r requirements.txt
	@touch $@

# Its dependencies are installed and hatchling is among them: nothing is fetched here.
$(STAMP)-package: pyproject.toml $(STAMP)-packages
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# A small warehouse runs, and Java archives the classes that it loaded (tests/support/java.py).
$(JAVA_CLASSES): $(STAMP)-packages tests/support/java.py
	@$(with_java) $(PY) -m tests.support.java

# dbt in an environment of its own, after which the packages of .venv are found: pyspark is there.
$(DBT)/.stamp: requirements-dbt.txt
	@rm -rf $(DBT) && $(PY) -m venv $(DBT)
	@$(DBT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dbt.txt
	@$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > $$($(DBT)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/freshline.pth
	@touch $@
