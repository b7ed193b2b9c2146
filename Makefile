# The two commands of the README are `make lab` and `make test`; `make help` lists the rest.

# The first of these that runs; or say which: make setup PYTHON=/path/to/python3.11
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
# The interpreter that everything runs in. PY=python uses the active environment as it is.
PY ?= .venv/bin/python
# Brings .venv up to date, unless PY names another environment. What executes nothing asks with --for
# only for what it needs, and takes it in any release.
SET_UP = $(if $(filter-out .venv/bin/python,$(PY)),:,$(or $(PYTHON),echo 'No Python found. Install Python 3.11.' >&2; exit 1;) tools/setup_env.py)
JOBS ?= auto
# An environment with the newest release of everything that still has any: without MXNet. It needs the
# newest Python that all of these have a release for, because each drops old ones: JAX 0.11 has no
# Python 3.11. Today it is 3.13, because TensorFlow 2.21 has none for 3.14. PYTHON= names another.
NEWEST_PYTHON := $(if $(filter file,$(origin PYTHON)),python3.13,$(PYTHON))
NEWEST := .venv-newest/bin/python
NEWEST_FRAMEWORKS := $(filter-out mxnet,$(notdir $(wildcard notebooks/en/*)))
TENSORFLOW := $(if $(filter Darwin,$(shell uname)),tensorflow,tensorflow-cpu)
# The temporary folder of a run, for what tests and notebooks leave there: a gigabyte of what PyTorch
# has compiled. It is gone when the run ends; the parts of `make test` share one.
export FOLDER
IN_A_FOLDER = $(if $(FOLDER),TMPDIR="$$FOLDER",FOLDER=$$(mktemp -d) && trap 'rm -rf "$$FOLDER"' EXIT \
	&& trap 'exit 1' INT TERM && TMPDIR="$$FOLDER")
# Unit tests wait now and then, for a disk or for another process: one process more than cores.
ONE_MORE = $$($(PY) -c 'import psutil; from d2lhybrid.measuring.provenance import environment; \
	print(min(psutil.cpu_count(logical=False) or 1, environment().cores) + 1)')
# The resolver of `make lock`.
UV := 0.13.8
BENCHMARKS := verdicts agreement claims_under_load artifacts_io why
ALLOW_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: help setup lab test test-lesser test-unit test-numpy test-notebooks test-framework twice test-browser test-bare record environments picture check check-notebooks check-types check-style check-workflows html watch dist findings notebooks executed student messages models bench under-load fuzz newest conda conda-pytorch-jax conda-tensorflow conda-mxnet lock format clean

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | expand -t 18

setup:  ## create or refresh .venv; does nothing when nothing changed
	@$(SET_UP)

lab:  ## open JupyterLab on your copy of the notebooks, my/notebooks; FRAMEWORK=pytorch,jax installs no others; JupyterLab's options as ARGS="--no-browser --port 8899"
	@$(SET_UP) --lab "$(FRAMEWORK)"
	$(PY) tools/lab.py $(ALLOW_ROOT) $(ARGS)

test:  ## everything: unit tests, MXNet on NumPy 1, every notebook; LIMIT=75 fails after so many minutes
	$(if $(PYTHON),,$(error No Python found. Install Python 3.11))
	@$(IN_A_FOLDER) FOLDER="$$FOLDER" $(PYTHON) tools/parts.py $(if $(LIMIT),--limit $(LIMIT)) setup \
		$(CHECK) test-unit test-numpy "test-notebooks PART=english" "test-notebooks PART=translations"

# As on a processor without AVX, as far as each library can be told to do without. MXNet's oneDNN
# knows the older of two names. NumPy takes these names alone, and ignores others without a word.
LESSER := NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR" ATEN_CPU_CAPABILITY=default \
	ONEDNN_MAX_CPU_ISA=SSE41 DNNL_MAX_CPU_ISA=SSE41 XLA_FLAGS=--xla_cpu_max_isa=SSE4_2

# TensorFlow asks the processor whether it has bfloat16, and not oneDNN, which was told to do without:
# the process would end.
ifneq ($(ONEDNN_MAX_CPU_ISA)$(DNNL_MAX_CPU_ISA),)
export TF_ENABLE_ONEDNN_OPTS ?= 0
endif

test-lesser: setup  ## make check and make test as on a processor without AVX, and what each framework then says it uses
	$(LESSER) $(PY) tools/processor.py
	@$(LESSER) $(MAKE) --no-print-directory test CHECK=check

test-unit: setup  ## unit tests and the examples in the docs
	@$(IN_A_FOLDER) $(PY) -m pytest -p tools.compile_once -n $(if $(filter auto,$(JOBS)),$(ONE_MORE),$(JOBS)) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test-numpy: setup  ## MXNet on NumPy 1.26, in an environment of its own; NUMPY=2.2.6 on another
	$(PY) tools/setup_env.py --numpy $(or $(NUMPY),1.26.4)

test-notebooks: setup  ## execute every notebook and compare what it prints; PART=english or PART=translations
	@$(IN_A_FOLDER) $(PY) tools/run_notebooks.py $(if $(PART),--part $(PART)) --jobs $(JOBS) --shard $(or $(SHARD),1/1) "$(or $(LANG_),*)/$(or $(FRAMEWORK),*)/$(or $(CHAPTER),*)"

# The tests call PyTorch by its module's name.
MODULE = $(FRAMEWORK:pytorch=torch)

test-framework: setup  ## what FRAMEWORK needs no other for: its unit tests and notebooks
	$(if $(FRAMEWORK),,$(error Say which: make test-framework FRAMEWORK=tensorflow))
	@$(IN_A_FOLDER) $(PY) -m pytest tests/backends/test_contract.py tests/backends/test_fates.py \
		$(wildcard tests/backends/test_$(MODULE).py) -k $(MODULE)
	@$(IN_A_FOLDER) $(MAKE) --no-print-directory test-notebooks

twice: setup  ## execute every English notebook twice in one kernel; FRAMEWORK and CHAPTER choose
	@$(IN_A_FOLDER) $(PY) tools/run_twice.py "$(or $(LANG_),en)/$(or $(FRAMEWORK),*)/$(or $(CHAPTER),*)"

test-browser: setup  ## JupyterLab and the site in chromium; ALL=1 runs every notebook there
	$(PY) -m pytest tests/browser $(if $(ALL),--all)

test-bare: setup  ## a notebook's first cell on a machine that has PyTorch alone; downloads PyTorch
	$(PY) tools/bare_notebook.py

record: setup  ## run the GPU part on this machine's GPU, a quarter of an hour, into build/recorded; PARTS="cells-jax networks-jax", SECONDS=600, TO=folder
	$(PY) -m recording $(if $(PARTS),--parts $(PARTS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(TO),--to "$(TO)") $(if $(COMMIT),--commit $(COMMIT))

picture: setup  ## take README's picture anew, from the English PyTorch notebook of faster, in chromium
	$(PY) -m pytest tests/browser/test_lab_picture.py::test_take_the_picture
	cp build/screenshots/readme.png docs/images/notebook.png

check: setup  ## is every committed notebook what its source builds? lint, types; writes nothing
	@$(MAKE) --no-print-directory -j2 check-types check-notebooks check-style check-workflows

check-notebooks:
	$(PY) -m book check
	$(PY) tools/front_page.py --check

check-style:
	$(PY) -m ruff check --no-cache --quiet .
	$(PY) -m ruff format --no-cache --check --quiet .

check-types:
	$(PY) -m mypy --cache-dir=/dev/null

check-workflows:
	$(PY) -m check_jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(PY) -m check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PY) -m check_jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	@zizmor="$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')/zizmor"; \
	said=$$("$$zizmor" --quiet --offline --no-config --pedantic .github) || { echo "$$said"; exit 1; }

html:  ## the site to read: build/html/index.html, from the committed notebooks; runs none
	@$(SET_UP) --for book,site
	$(PY) -m website

watch:  ## preview of a chapter as it is written: WHAT="pt/pytorch/hybridize"; executes nothing
	@$(SET_UP) --for book,site
	$(PY) -m website.watch $(WHAT) $(ARGS)

dist:  ## build the package into dist/ and try it in an empty environment
	$(PYTHON) tools/dist.py $(if $(TAG),--tag "$(TAG)")

notebooks: setup  ## build and execute the notebooks whose sources changed, and README in each language
	$(PY) -m book build --execute --jobs 1 $(if $(ALLOW_PARTIAL),--partial)
	$(PY) tools/front_page.py

findings: setup  ## what README, docs/findings.md and the site's first page say of a CPU, measured in six processes each, into recorded/cpu; takes a quiet machine, 40 minutes; ONLY="jax mxnet" chooses
	$(PY) tools/findings.py $(if $(ONLY),--only $(ONLY))
	$(PY) tools/front_page.py

CHOSEN = $(if $(LANG_),--language $(LANG_)) $(if $(FRAMEWORK),--framework $(FRAMEWORK)) $(if $(CHAPTER),--chapter $(CHAPTER))

executed: setup  ## execute the notebooks into build/executed; LANG_, FRAMEWORK and CHAPTER choose
	$(PY) -m book build --execute --all --jobs 1 --output build/executed $(CHOSEN)

student:  ## notebooks to give out, without solutions, into build/student; executes nothing; LANG_, FRAMEWORK and CHAPTER choose
	@$(SET_UP) --for book
	$(PY) -m book student $(CHOSEN)

messages:  ## bring the translators' catalogs up to date; START=ja begins a language
	@$(SET_UP) --for book
	$(PY) -m book messages $(if $(START),--start $(START))

models: setup  ## real models through every function, into docs/models.md; ONLY="BERT" chooses; an hour and a half; ARGS=--speed only compares
	$(PY) tools/model_table.py $(ARGS) $(ONLY)

bench: SHELL := bash
bench: setup  ## the benchmarks, one table each, into build/benchmarks; ONLY="processes threads_under_load" chooses, these two take longest; takes a quiet machine
	@mkdir -p build/benchmarks; $(PY) -m d2lhybrid doctor | tee build/benchmarks/machine.txt
	@set -o pipefail; status=0; for name in $(or $(ONLY),$(BENCHMARKS)); do \
		echo "== $$name, $$(date -I)"; \
		$(PY) -u benchmarks/$$name.py 2>&1 | tee build/benchmarks/$$name.txt || status=1; \
	done; exit $$status

under-load: setup  ## every English notebook 20 times with every core kept busy, hours; or ARGS="--make test --runs 5 --load 15"
	@$(IN_A_FOLDER) $(PY) benchmarks/under_load.py $(if $(ARGS),$(ARGS),--runs 20)

fuzz: setup  ## the long campaigns: damaged artifacts and sources of the book, killed saves, views of tensors, false fates; an hour
	$(PY) tests/artifacts/fuzz_damage.py --count 1200 --seed 0
	$(PY) tests/artifacts/fuzz_crash.py --count 200
	$(PY) tests/artifacts/fuzz_views.py
	$(PY) tests/backends/test_fates.py --count 200 --seed 0
	$(PY) tests/book/fuzz_sources.py --count 300 --seed 0

newest:  ## do the tests pass, and the notebooks run, with the newest releases, on Python 3.13? downloads gigabytes
	$(NEWEST_PYTHON) -m venv --clear .venv-newest
	$(NEWEST) -m pip install --quiet --upgrade --upgrade-strategy eager pip $(TENSORFLOW) --editable ".[dev]"
	$(NEWEST) -m pip install --quiet --no-deps d2l
	$(NEWEST) -m pip list
	status=0; \
	$(NEWEST) -m pytest -p no:cacheprovider -k "not mxnet" tests/measuring tests/experiments tests/verbs tests/backends tests/artifacts || status=1; \
	for framework in $(NEWEST_FRAMEWORKS); do \
		$(NEWEST) -m book build --execute --all --jobs 1 --output build/newest --language en \
			--framework $$framework || status=1; \
	done; exit $$status

conda: conda-pytorch-jax conda-tensorflow conda-mxnet  ## the conda environments of environment*.yml, for a machine with a GPU

# Without dependencies comes what no line of those files could say; requirements/no-deps.txt says why.
# Each is made anew: an update would leave the CUDA packages of an older list beside the new ones.
conda-pytorch-jax:
	-conda env remove --yes --name d2lhybrid
	conda env create --file environment.yml
	conda run --no-capture-output --name d2lhybrid python -m pip install --no-deps \
		--requirement requirements/no-deps.txt

conda-tensorflow:
	-conda env remove --yes --name d2lhybrid-tensorflow
	conda env create --file environment-tensorflow.yml
	conda run --no-capture-output --name d2lhybrid-tensorflow python -m pip install --no-deps d2l==1.0.3

conda-mxnet:
	-conda env remove --yes --name d2lhybrid-mxnet
	conda env create --file environment-mxnet.yml
	conda run --no-capture-output --name d2lhybrid-mxnet python -m pip install --no-deps \
		d2l==1.0.3 mxnet-cu112==1.9.1

# PyTorch brings the CUDA libraries of its build itself, with exact versions: naming them would bring
# gigabytes to a machine whose PyTorch is the small CPU build.
lock:  ## pin the newest versions that fit together, for every Python and platform, and for a GPU
	@$(SET_UP) --for book
	$(PY) -m pip install --quiet uv==$(UV)
	$(PY) -m uv --quiet pip compile pyproject.toml requirements/notebooks.in --extra dev --universal \
		--python-version 3.11 --no-python-downloads --no-annotate --no-header --no-emit-index-url \
		--output-file build/lock.txt
	(echo '# Made by `make lock` from pyproject.toml and requirements/notebooks.in; not edited by hand.'; \
		grep -vE '^(--|nvidia-|cuda-|triton==)' build/lock.txt) > requirements/lock.txt
	$(PY) tools/environments.py --write

environments:  ## does pip still take for each conda environment what `make lock` has written? downloads nothing
	@$(SET_UP) --for book
	$(PY) -m pip install --quiet uv==$(UV)
	$(PY) tools/environments.py

format: setup  ## let the formatter rewrite the Python files
	$(PY) -m ruff check --fix --quiet .
	$(PY) -m ruff format .

clean:  ## remove what the other targets made, except the notebooks
	rm -rf .venv .venv-* build dist artifacts
