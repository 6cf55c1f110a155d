# The front of the project: every target does the set-up that it needs by itself (scripts/deps.sh). `make help` lists them.
#   ARGS=...        more flags for `make serve`, or more arguments for pytest in `make test` or the script of `make bench`
#   CMAKE_ARGS=...  build options of libllama, say -DGGML_CUDA=on
#   KVALET_DEPS=... where the set-up lies (default: ~/.cache/kvalet)
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help serve build test test-asan test-tsan deps model models tiny-model gemma-model peer bench format lint clean

export CMAKE_ARGS
deps := scripts/deps.sh
ARGS ?= $(KVALET_ARGS)
PORT ?= 8080

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

serve: ## build, and serve the default model on port 8080 (ARGS="--parallel 8 ...")
	@$(deps) ensure packages libllama model
	@scripts/build.sh release kvalet >&2
	@exec build/kvalet serve -m "$$($(deps) path model)" --port $(PORT) $(ARGS)

build: ## build the program: build/kvalet
	@$(deps) ensure packages libllama
	@scripts/build.sh release kvalet

test: ## build all, run all tests; with CI=true a short sanitizer run too
	@scripts/test.sh all

test-asan: ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/test.sh asan

test-tsan: ## the tests on the fake backend under ThreadSanitizer
	@scripts/test.sh tsan

deps: ## only the set-up of `make serve` and `make test`
	@$(deps) ensure packages test-packages libllama model tools clients tiny-models

model: ## fetch the default model and print its path
	@$(deps) ensure model
	@$(deps) path model

models: ## make and fetch every model of the tests and print their paths
	@$(deps) ensure model tiny-models gemma
	@$(deps) path model
	@$(deps) path gemma
	@ls -1 "$$($(deps) path tiny-models)"/*.gguf

tiny-model: ## make the tiny random models and print the path of the first
	@$(deps) ensure tiny-models
	@$(deps) path tiny-llama

gemma-model: ## fetch Gemma 3 270M (sliding window) and print its path
	@$(deps) ensure gemma
	@$(deps) path gemma

peer: ## build llama-server to compare with and print its folder
	@$(deps) ensure peer
	@$(deps) path peer

bench: ## compare with llama-server, on a quiet machine (BENCH=budgets: another script of bench/)
	@$(deps) ensure packages libllama model tools
	@scripts/bench.sh $(ARGS)

format: ## clang-format everything
	@$(deps) ensure lint-packages
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

lint: ## clang-format in check mode, clang-tidy and shellcheck
	@$(deps) ensure packages lint-packages libllama
	@scripts/lint.sh

clean: ## remove what was built here; the cache stays
	rm -rf build build-*
