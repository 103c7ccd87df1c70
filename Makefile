# Every target does its own set-up in .venv, from the hashed lock files. pip comes first: one of before 23.3, as Debian 12
# has it, takes the newest release of what is asked for with an extra, which is not the one whose hash is locked. Then
# comes uv, which fetches side by side and installs in seconds what takes pip minutes.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where Python may not keep what it has compiled, each of some thousand processes compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE
TOOLS := $(VENV)/.tools-installed
RUN := $(VENV)/.run-installed
DEV := $(VENV)/.dev-installed
ADAPTERS := .venv-adapters

# Every rule is Python's; these hold it without the compiled core (native/README.md), which all other tests run with.
PURE := tests/codecs/test_blocks.py tests/codecs/test_in_place.py tests/codecs/test_merkle.py \
  tests/codecs/test_partition.py \
  tests/streams/adjudication/test_fold.py tests/streams/adjudication/test_fold_properties.py tests/streams/adjudication/test_compiled.py \
  tests/streams/adjudication/test_compiled_checks.py \
  tests/streams/adjudication/test_snapshot.py tests/streams/adjudication/test_table.py tests/streams/adjudication/test_timers.py

# The modules that have slow tests: each worker collects what it is given, and of all tests that takes half a minute.
SLOW = $$(grep -rlw --include='test_*.py' 'mark\.slow' tests \
  --exclude-dir=integration --exclude-dir=docs --exclude-dir=manifests --exclude-dir=adapters_real)

.PHONY: demo alerts browser test test-all test-kafka test-kafka-gate nightly test-slow test-docs test-pure test-deep test-adapters lint types format bench bench-quick bench-serve yield soundness docs reference screenshots conformance fuzz fuzz-native fuzz-judging manifests sbom soak chaos lock wheels clean help

help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sluice needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)

INSTALL := install --quiet --disable-pip-version-check
# uv reads no setting of pip's, so it is told of pip's index. Where that stands in a file of pip's own, or uv does not run,
# pip takes over: soon, since uv tries a silent index once more only. An index that uv is told of itself stays.
LOCKED = UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${UV_INDEX_URL:-$$PIP_INDEX_URL}}" \
  UV_HTTP_CONNECT_TIMEOUT="$${UV_HTTP_CONNECT_TIMEOUT:-5}" UV_HTTP_RETRIES="$${UV_HTTP_RETRIES:-1}" \
  $(BIN)/uv pip install --quiet --compile-bytecode --python $(1)/bin/python --require-hashes -r $(2) \
  || $(BIN)/python -m pip --python $(1)/bin/python $(INSTALL) --require-hashes -r $(2)
# uv would not see that a source of the core has changed, so pip does this.
EDITABLE = PYTHONWARNINGS=ignore $(BIN)/python -m pip --python $(1)/bin/python $(INSTALL) --no-deps --no-build-isolation --editable .

$(TOOLS): requirements/pip.txt requirements/uv.txt | $(BIN)/python
	$(BIN)/python -m pip $(INSTALL) --require-hashes -r requirements/pip.txt
	$(BIN)/python -m pip $(INSTALL) --only-binary :all: --require-hashes -r requirements/uv.txt || true # some platforms have none
	@touch $@

$(RUN): requirements/run.txt pyproject.toml $(wildcard native/*.[ch]) $(TOOLS)
	$(call LOCKED,$(VENV),requirements/run.txt)
	@$(BIN)/python -m pip uninstall --quiet --yes sluice >/dev/null 2>&1 || true # the distribution had that name once
	$(call EDITABLE,$(VENV))
	@touch $@

$(DEV): requirements/dev.txt $(RUN)
	$(call LOCKED,$(VENV),requirements/dev.txt)
	@touch $@

# The adapters' frameworks pin what sluice has newer, so they have an environment of their own. The compiled core lies in
# the tree, where the set-up of .venv has put it, so it is not compiled again.
$(ADAPTERS)/.installed: requirements/adapters.txt $(RUN)
	test -x $(ADAPTERS)/bin/python || $(BIN)/python -m venv --without-pip $(ADAPTERS)
	$(call LOCKED,$(ADAPTERS),requirements/pip.txt)
	$(call LOCKED,$(ADAPTERS),requirements/adapters.txt)
	CC=false $(call EDITABLE,$(ADAPTERS))
	@touch $@

demo: $(RUN) ## the main job, end to end, on this checkout
	$(BIN)/sluice demo $(ARGS)

test: $(DEV) ## unit, property and conformance tests, and one path of each kind through a real Kafka where Java and Maven are there
ifdef ARGS
	$(BIN)/python -m pytest $(ARGS)
else  # three side by side on two cores: a third of the time goes by in waiting
	$(BIN)/python -m pytest -q -n 3 --dist worksteal -m "not slow" \
	  --ignore=tests/integration --ignore=tests/docs --ignore=tests/manifests --ignore=tests/adapters_real
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m path tests/integration
endif

test-adapters: $(ADAPTERS)/.installed ## the adapters, against the real packages of LiteLLM, OpenAI Agents, LangChain and Anthropic
	$(ASIDE) $(ADAPTERS)/bin/python -m pytest -q --disable-warnings -n 2 --dist loadfile tests/adapters_real $(ARGS)

# One after another, or two side by side (`--jobs=2 --output-sync=target`, as the gate does): tests on Kafka wait for most
# of the time, and the others compute then. They give way, so that what they stand beside keeps its time.
ASIDE := nice -n 10
test-all: test-kafka test-slow test-docs test-adapters test-pure ## all other tests: slow ones, documentation, manifests, adapters, without the compiled core, real Kafka, chaos

# What a submission must hold on a real Kafka; `make nightly` runs all of them.
GATE_KAFKA := $(addprefix tests/integration/,test_exactly_once.py test_recovery.py test_fail_over.py test_handing_over.py test_serve.py)

test-kafka-gate: $(DEV) ## exactly-once, recovery, fail-over, hand-over and serve on a real Kafka
	$(BIN)/python -m pytest -q -n 3 --dist loadscope --no-loadscope-reorder -m "not path" $(GATE_KAFKA)

nightly: test-all alerts soundness fuzz fuzz-native fuzz-judging ## all that takes long: every other test, the alerts, the soundness oracles, the fuzzers

# A test goes to whichever worker is free, the longest first (tests/integration/conftest.py).
test-kafka: $(DEV) ## what needs a real Kafka and is not in `make test`; chaos, the console in a browser
	@$(MAKE) --no-print-directory browser # no prerequisite: make would begin all others first, and this one last
	$(BIN)/python -m pytest -q -n 4 --dist loadscope --no-loadscope-reorder -m "not path" --ignore=tests/integration/alerts tests/integration

alerts: $(DEV) ## the alert rules in Debian's Prometheus, over a real Kafka that is in trouble; installed where it is missing and root may
	@command -v prometheus >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 prometheus >/dev/null; }
	$(BIN)/python -m pytest -q tests/integration/alerts

test-slow: $(DEV) ## tests that take several seconds each; the simulation
	$(ASIDE) $(BIN)/python -m pytest -q -n 3 --dist worksteal -m slow $(SLOW)

test-docs: $(DEV) ## documentation and manifests
	$(ASIDE) $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/docs tests/manifests

test-pure: $(DEV) ## the rules without the compiled core
	SLUICE_PURE=1 $(ASIDE) $(BIN)/python -m pytest -q -n 2 --dist worksteal $(PURE)

# Its tests say what to do where it is missing; in CI they fail there (tests/integration/browser).
browser: ## Debian's Chromium for the tests of the console, where it is missing and root may install it
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 chromium >/dev/null; }

test-deep: $(DEV) ## the property tests with four times as many examples, as long searches want them
	SLUICE_DEEP=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal -m hypothesis --ignore=tests/integration --ignore=tests/adapters_real
	SLUICE_DEEP=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/streams/adjudication/test_compiled.py

conformance: $(DEV) ## one test per requirement of the documents
	$(BIN)/python tools/conformance_report.py $(ARGS)

fuzz: $(DEV) ## fuzz the sanitiser for SECONDS (60)
	$(ASIDE) $(BIN)/python fuzz/sanitise.py --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-native: $(DEV) ## fuzz the compiled core under sanitisers for SECONDS (60)
	$(ASIDE) $(BIN)/python fuzz/native.py --seconds $(or $(SECONDS),60) $(ARGS)

fuzz-judging: $(DEV) ## programs with known truth, held against the judge, for SECONDS (60)
	$(ASIDE) $(BIN)/python fuzz/judging.py --seconds $(or $(SECONDS),60) $(ARGS)

manifests: $(DEV) ## Dockerfile, Compose, Kubernetes and alert rules, by their own parsers (needs Go)
	$(BIN)/python tools/validate_manifests.py

SBOM ?= var/sluice.cdx.json

sbom: $(DEV) ## the Python packages that sluice runs on, with their hashes, as CycloneDX
	mkdir -p $(dir $(SBOM))
	$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --mc-type application --spec-version 1.6 --output-format JSON --output-reproducible --validate --output-file $(SBOM) requirements/run.txt

soak: $(DEV) ## 100,000 seeds of the simulation, on all cores; FIRST=5000 SEEDS=2000 for those; ends with seeds=N failed=N
	$(BIN)/python -m tests.simulation.run --first $(or $(FIRST),0) --seeds $(or $(SEEDS),100000) $(ARGS)

chaos: $(DEV) ## workers and three real Kafkas under 100 faults and more; ends with faults=N lost=N doubled=N
	PYTHONPATH=tests/support:tests/integration $(BIN)/python tests/integration/chaos/run.py $(ARGS)

lint: $(DEV) ## ruff, the direction of imports, the prose, docstrings, the tests' builders, and the bounds on the code's size
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python tools/check_prose.py
	$(BIN)/python tools/check_prose.py --python codecs streams record topology
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_names.py
	$(BIN)/python tools/check_builders.py
	$(BIN)/python tools/measure_code.py --check

types: $(DEV) ## pyright, strict
	$(BIN)/pyright

format: $(DEV) ## rewrite the sources as ruff wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) ## sluice beside Kafka Streams, Quix, Bytewax, Faust and the floors, on one Kafka
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-quick: $(DEV) ## instructions of the fold against the stored figure
	$(BIN)/python benchmarks/run.py --quick $(ARGS)

bench-serve: $(DEV) ## sluice serve under load: 1,000 streams, 500 emissions/s, 10,000 open requests, on a real Kafka
	$(BIN)/python benchmarks/serve.py $(ARGS)

yield: $(DEV) ## how right the verdicts about real answers are; ends with 1 where a bound is missed
	$(BIN)/python benchmarks/yield/run_yield.py $(ARGS)

# Ruby's own parser reads Ruby there; where it is missing and root may install it, Debian's is.
soundness: $(DEV) ## facts that compilers' own parsers know of real packages, held against the judge: FACTS a kind and language
	@command -v ruby >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || { export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=120 ruby >/dev/null; }
	$(BIN)/python -m benchmarks.soundness $(if $(FACTS),--facts $(FACTS)) $(ARGS)

docs: $(DEV) ## the documentation site, built strictly into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

screenshots: $(DEV) browser ## the pictures of the console in docs/images
	PYTHONPATH=tests/support $(BIN)/python tools/make_screenshots.py

reference: $(DEV) ## docs/reference, from the code; the operator's alerts, from the rules
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_alerts.py

lock: $(DEV) ## resolve the dependencies anew
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header pyproject.toml --extra all --group build -o requirements/run.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header pyproject.toml --extra all --group dev -c requirements/run.txt -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header pyproject.toml --extra all --group adapters -o requirements/adapters.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header --group wheels -o requirements/wheels.txt
	echo pip | $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header - -o requirements/pip.txt
	echo uv | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-header -c requirements/dev.txt - -o requirements/uv.txt

wheels: $(BIN)/python ## the wheels, built and tested into dist/; PYTHONS="3.11 /path/of/python3.14" names other interpreters
	$(BIN)/python tools/make_wheels.py $(PYTHONS) $(ARGS)

clean: ## remove what the other targets made
	rm -rf $(VENV) $(ADAPTERS) var build dist *.egg-info codecs/*.so streams/*.so
