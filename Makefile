# The two commands of the README are `make lab` and `make test`; `make help` lists the rest.

# The first of these that runs; or say which: make setup PYTHON=/path/to/python3.11
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done)
# The interpreter that everything runs in. PY=python uses the active environment as it is.
PY ?= .venv/bin/python
JOBS ?= auto
# An environment with the newest release of everything that still has any: without MXNet.
NEWEST := .venv-newest/bin/python
NEWEST_TESTS := tests/measure tests/frameworks tests/artifacts/test_torch_formats.py \
	tests/artifacts/test_tensorflow_formats.py tests/artifacts/test_jax_formats.py \
	tests/test_explain_jax.py
TENSORFLOW := $(if $(filter Darwin,$(shell uname)),tensorflow,tensorflow-cpu)
ALLOW_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: help setup lab test test-unit test-numpy test-notebooks test-browser test-bare picture check check-notebooks check-types check-style check-workflows html watch dist notebooks executed messages models bench under-load fuzz mutants newest conda lock format clean

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:[^#]*## */\t/' | expand -t 18

setup:  ## create or refresh .venv; does nothing when nothing changed
ifeq ($(PY),.venv/bin/python)
	@$(if $(PYTHON),$(PYTHON) tools/setup_env.py,echo 'No Python found. Install Python 3.11.' >&2; exit 1)
endif

lab: setup  ## open JupyterLab on your copy of the notebooks, my/notebooks; its options as ARGS="--no-browser --port 8899"
	$(PY) tools/lab.py $(ALLOW_ROOT) $(ARGS)

test: test-unit test-numpy test-notebooks  ## everything: unit tests, MXNet on NumPy 1, every notebook

test-unit: setup  ## unit tests and the examples in the docs
	$(PY) -m pytest -p tools.compile_once -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-numpy: setup  ## MXNet on NumPy 1.26, in an environment of its own; NUMPY=2.2.6 on another
	$(PY) tools/numpy_env.py $(NUMPY)

test-notebooks: setup  ## execute every notebook and compare what it prints
	$(PY) tools/run_notebooks.py --jobs $(JOBS) --language "$(LANG_)" --framework "$(FRAMEWORK)" --chapter "$(CHAPTER)" --shard "$(SHARD)"

test-browser: setup  ## JupyterLab and the site in chromium; ALL=1 runs every notebook there
	$(PY) -m pytest tests/browser $(if $(ALL),--all)

test-bare: setup  ## a notebook's first cell on a machine that has PyTorch alone; downloads some megabytes
	$(PY) -m tools.bare_notebook $(if $(CHAPTER),--chapter $(CHAPTER))

picture: setup  ## take README's picture anew, in chromium
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

html: setup  ## the site to read: build/html/index.html, from the committed notebooks; runs none
	$(PY) -m website

watch: setup  ## preview of a chapter as it is written: WHAT="pt/pytorch/hybridize"; executes nothing
	$(PY) -m website.watch $(WHAT) $(ARGS)

dist:  ## build the package into dist/ and try it in an empty environment
	$(PYTHON) tools/dist.py $(if $(TAG),--tag "$(TAG)")

notebooks: setup  ## build and execute the notebooks whose sources changed
	$(PY) -m book build --execute --jobs 1 $(if $(ALLOW_PARTIAL),--partial)
	$(PY) tools/front_page.py

executed: setup  ## execute the notebooks into build/executed; LANG_, FRAMEWORK and CHAPTER choose
	$(PY) -m book build --execute --all --jobs 1 --output build/executed $(if $(LANG_),--language $(LANG_)) $(if $(FRAMEWORK),--framework $(FRAMEWORK)) $(if $(CHAPTER),--chapter $(CHAPTER))

messages: setup  ## bring the translators' catalogs up to date; START=ja begins a language
	$(PY) -m book messages $(if $(START),--start $(START))

models: setup  ## real models through every function, into docs/models.md; ONLY="BERT" chooses; half an hour
	$(PY) tools/model_table.py $(ARGS) $(ONLY)

bench: setup  ## the benchmarks, one table each; ONLY="gpu ladder" chooses; takes a quiet machine
	$(PY) tools/run_benchmarks.py $(ONLY)

under-load: setup  ## every English notebook 20 times with every core kept busy, hours; or ARGS="--make test --runs 5 --load 15"
	$(PY) benchmarks/under_load.py $(if $(ARGS),$(ARGS),--runs 20)

fuzz: setup  ## the long campaigns: damaged artifacts, killed saves, a full disk; half an hour
	$(PY) tests/artifacts/fuzz_damage.py --count 600 --seed 0
	$(PY) tests/artifacts/fuzz_damage.py --count 600 --seed 0 --target ours --through load
	$(PY) tests/artifacts/fuzz_crash.py --count 200
	$(PY) tests/artifacts/fuzz_disk.py

newest:  ## do the tests pass, and the notebooks run, with the newest releases? downloads gigabytes
	$(PYTHON) -m venv .venv-newest
	$(NEWEST) -m pip install --quiet --upgrade --upgrade-strategy eager pip $(TENSORFLOW) \
		--editable ".[torch,jax,onnx,safetensors,notebooks,test]"
	$(NEWEST) -m pip install --quiet --no-deps d2l
	$(NEWEST) -m pip list | grep -iE '^(torch|tensorflow|keras|jax|flax|numpy|onnx)'
	status=0; \
	$(NEWEST) -m pytest -p no:cacheprovider -k "not mxnet" $(NEWEST_TESTS) || status=1; \
	for framework in pytorch tensorflow jax; do \
		$(NEWEST) -m book build --execute --all --jobs 1 --output build/newest --language en \
			--framework $$framework || status=1; \
	done; exit $$status

mutants: setup  ## do the tests notice small changes of the measuring code? ONLY="stats" chooses; an hour at most
	$(PY) tools/mutation.py $(ONLY)

conda:  ## create or refresh the conda environment of environment.yml, for a machine with a GPU
	conda env update --file environment.yml --prune
	conda run --no-capture-output --name d2lhybrid python -m pip install --no-deps \
		d2l==1.0.3 mxnet-cu112==1.9.1

lock: setup  ## pin the newest versions that fit together
	$(PY) -m pip install --quiet uv==0.13.8
	$(PY) tools/lock.py

format: setup  ## let the formatter rewrite the Python files
	$(PY) -m ruff check --fix --quiet .
	$(PY) -m ruff format .

clean:  ## remove what the other targets made, except the notebooks
	rm -rf .venv .venv-numpy .venv-newest .venv-mutants .venv-models mutants build dist artifacts
