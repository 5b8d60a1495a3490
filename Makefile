# One set of build flags everywhere: the control plane's two thousand packages are compiled once and then cached.
export CGO_ENABLED := 0
export GOFLAGS := -buildvcs=false

BIN := bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/karpenter and bin/karpenter-lab
	@mkdir -p $(BIN)
	@echo "building (the first time takes several minutes: a whole Kubernetes control plane is compiled)" >&2
	@go build -ldflags '$(LDFLAGS)' -o $(BIN)/karpenter ./cmd/karpenter
	@go build -o $(BIN)/karpenter-lab ./plane/cmd/karpenter-lab

.PHONY: lab
lab: build ## run a whole cluster on a simulated Azure, until Ctrl-C
	@exec $(BIN)/karpenter-lab up $(LAB_FLAGS)

.PHONY: test
test: ## prove everything, the whole story included
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./... ./plane/... ./compat/...
	go test ./...
	go test ./compat/...
	go test -p 1 -timeout 30m ./plane/...

.PHONY: unit
unit: ## only what needs no control plane
	go test ./...

.PHONY: bench-compare
bench-compare: ## measure us beside upstream's engine and write docs/performance.md anew (several minutes)
	go run ./compat/cmd/bench-compare -into docs/performance.md

.PHONY: generate
generate: ## write CRDs, deep copies and charts' copies anew
	go generate ./...

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')
