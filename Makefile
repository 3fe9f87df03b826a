# `make` tells what can be done here.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

STATICCHECK := go tool -modfile=tools/go.mod staticcheck
# Without cgo sqlc brings its parser of PostgreSQL along; with it a C build of minutes.
SQLC := CGO_ENABLED=0 go tool -modfile=tools/go.mod sqlc
QUERIES := internal/store/internal/db

# How many times `make soak` repeats, and how many batches of eight random runs `make model` tries: 700 are 5,600 runs.
N ?= 20
CHECKS ?= 700

.PHONY: help
help: ## tell what can be done here
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## see it work: a nightly report on a private PostgreSQL, in one command
	@.ci/prepare postgres
	examples/nightly-report/demo.sh

.PHONY: test
test: prepare lint ## check everything: lint, then all tests under the race detector
	go test -race ./...

.PHONY: prepare
prepare: ## install what the tests need and this machine lacks (as root on Debian)
	@.ci/prepare compiler postgres languages

.PHONY: lint
lint: fmt-check vet generated ## check form, suspicious code and that generated code is fresh
	$(STATICCHECK) ./...

.PHONY: fmt-check
fmt-check:
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	test -z "$$unformatted" || { echo "run gofmt -w on:" $$unformatted; exit 1; }

.PHONY: vet
vet:
	go vet ./...

# Written anew elsewhere and compared, so that a query that was removed is noticed too.
.PHONY: generated
generated:
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	tar cf - --exclude=$(QUERIES) sqlc.yaml migrations internal/store | tar xf - -C "$$fresh"; \
	$(SQLC) generate -f "$$fresh/sqlc.yaml"; \
	diff -r "$$fresh/$(QUERIES)" $(QUERIES) || { echo "$(QUERIES) is stale: run make generate"; exit 1; }

.PHONY: generate
generate: ## write generated code anew
	rm -rf $(QUERIES)
	$(SQLC) generate

.PHONY: build
build: ## build bin/ax
	go build -trimpath -o bin/ax ./cmd/ax

.PHONY: bench
bench: build ## measure throughput and latency against raw River on a private PostgreSQL
	bin/ax bench throughput
	bin/ax bench latency

.PHONY: soak
soak: model ## do what `make model` does, then repeat the tests of crashes and stress, N=20 times
	AX_SOAK=1 go test -race -count=$(N) -timeout 0 -run 'Crash|Kill|Stress|Soak' ./...
	go test -timeout 0 -run Reference ./dag/progress -rapid.checks=100000

.PHONY: model
model: ## compare CHECKS=700 batches of eight random runs on real PostgreSQL with the reference, and disturb as many
	go test -race -timeout 0 -run 'FollowsTheReference|WhateverHappens|PathsWriteTheSame' ./engine -rapid.checks=$(CHECKS)
