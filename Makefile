# One set of build flags everywhere: the control plane's two thousand packages are compiled once and then cached.
# -trimpath makes programs the same bytes wherever they are built; release/program has the same flags for the image.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false

SHELL := bash
.SHELLFLAGS := -o pipefail -ec

BIN := bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

# Compiles what the programs are made of, and says how far it is: every hundredth package, nothing when all is in the cache.
PACKAGES = go list -deps -f '{{if and (ne .Name "main") (not .Standard)}}{{.ImportPath}}{{end}}' ./cmd/karpenter ./plane/cmd/karpenter-lab ./release/cmd/karpenter-release
COUNT = awk -v all="$$(wc -l < $(BIN)/packages)" '/^[^ :]+$$/ { if (++n % 100 == 0) printf "  %d of at most %d packages are compiled\n", n, all; fflush(); next } { print }'

# Says in a sentence what people can mend when a build fails: a full disk, no memory.
WHY = awk '{ print; fflush() } /no space left on device/ { full = 1 } /signal: killed|cannot allocate memory/ { small = 1 } \
	END { if (full) print "The disk is full: make room (go clean -cache empties the build cache, which comes back), or set GOCACHE and GOTMPDIR to another one."; \
	if (small) print "There was no memory left for the compiler or the linker: end other programs, or build one package at a time with GOFLAGS=\"$(GOFLAGS) -p=1\"." }'

.PHONY: compile
compile:
	@mkdir -p $(BIN)
	@echo "compiling what is new (the first time all of it, a whole Kubernetes control plane: that takes several minutes)" >&2
	@$(PACKAGES) > $(BIN)/packages
	@began=$$SECONDS; xargs go build -v < $(BIN)/packages 2>&1 | $(COUNT) | $(WHY) >&2; took=$$((SECONDS - began)); \
		if [ $$took -ge 10 ]; then echo "compiled in $$((took / 60)) min $$((took % 60)) s; the next time it takes seconds" >&2; fi

.PHONY: build
build: compile ## build bin/karpenter and bin/karpenter-lab
	@echo "linking $(BIN)/karpenter and $(BIN)/karpenter-lab" >&2
	@go build -ldflags '$(LDFLAGS)' -o $(BIN)/karpenter ./cmd/karpenter 2>&1 | $(WHY) >&2
	@go build -o $(BIN)/karpenter-lab ./plane/cmd/karpenter-lab 2>&1 | $(WHY) >&2

# What is shipped: release/ makes it. make image PLATFORMS=host is quick; make image KEY=key.pem signs; make image
# REPOSITORY=registry.example/karpenter PUSH=1 pushes; FIPS=1 builds with Go's FIPS 140-3 module.
PLATFORMS ?= linux/amd64,linux/arm64
IMAGE_FLAGS = $(if $(REPOSITORY),--repository $(REPOSITORY)) $(if $(KEY),--key $(KEY)) $(if $(FIPS),--fips) $(if $(PUSH),--push)
RELEASE = go run ./release/cmd/karpenter-release

.PHONY: image
image: ## the controller's image with its papers as an OCI layout, bin/image
	@$(RELEASE) image --platforms $(PLATFORMS) --out $(BIN)/image --version '$(VERSION)' $(IMAGE_FLAGS)

.PHONY: release
release: ## everything a release consists of, into bin/release (many minutes: programs for five platforms)
	@$(RELEASE) release --platforms $(PLATFORMS) --out $(BIN)/release --version '$(VERSION)' $(IMAGE_FLAGS)

.PHONY: lab
lab: build ## run a whole cluster on a simulated Azure, until Ctrl-C
	@$(RELEASE) image --platforms host --out $(BIN)/image --version '$(VERSION)' >&2
	@exec $(BIN)/karpenter-lab up --image $(BIN)/image $(LAB_FLAGS)

# Tools stand in tools.mod with their versions, apart from what the product is made of.
TOOL = GOWORK=off go build -modfile=tools.mod -o $(BIN)/

.PHONY: lint
lint: ## look for mistakes that the compiler does not see (staticcheck)
	@$(TOOL) honnef.co/go/tools/cmd/staticcheck
	$(BIN)/staticcheck ./...

.PHONY: lint-all
lint-all: lint ## the same for plane and compat (many minutes: all of Kubernetes is read)
	$(BIN)/staticcheck ./plane/... ./compat/... ./release/...

.PHONY: vuln
vuln: ## look for known vulnerabilities in what we are made of (needs the network)
	@$(TOOL) golang.org/x/vuln/cmd/govulncheck
	$(BIN)/govulncheck ./... ./plane/... ./compat/... ./release/...

# The packages that start goroutines or hold locks; a house test keeps the list whole.
RACE := ./cloud/azure ./cloud/market ./cloud/memcloud ./internal/control ./internal/evidence ./internal/kube/apikube ./internal/kube/guard ./internal/kube/memkube ./internal/meter ./internal/observe \
	./internal/world ./lab/arm ./lab/kubelet ./model

.PHONY: race
race: ## the packages with goroutines under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race $(RACE)
	CGO_ENABLED=1 go test -race ./internal/sim -run 'StoriesByChance|WhateverDies' -first 5000 -seeds 10
	CGO_ENABLED=1 go test -race ./internal/simulate -run 'Block|HoweverItIsWritten|TooStrange'

# Fuzz targets are found, not listed: DIR:NAME. They draw by chance, so they are no part of make test: there each target reads its seeds and texts that
# are mutated the same way on every run (internal/mutated). The short run leaves out packages that link Kubernetes or the SDK, which take minutes to compile
# anew for fuzzing; their seeds run with every test.
FUZZTIME ?= 10m
FUZZ = git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed -E 's|/[^/]*:func |:|' | sort
FUZZ_SLOW := ^(cloud/azure|internal/kube/apikube|internal/simulate|lab/arm):
FUZZ_EACH = while IFS=: read -r dir name; do echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$dir > $(BIN)/fuzz.log || { cat $(BIN)/fuzz.log; exit 1; }; done

.PHONY: fuzz
fuzz: ## try readers with input that machines make up, FUZZTIME for each of them
	@mkdir -p $(BIN); $(FUZZ) | { $(FUZZ_EACH); }

.PHONY: fuzz-short
fuzz-short: FUZZTIME := 3s
fuzz-short: ## the same for some seconds
	@mkdir -p $(BIN); $(FUZZ) | grep -vE '$(FUZZ_SLOW)' | { $(FUZZ_EACH); }

.PHONY: test
test: compile ## prove everything, the whole story included
	go vet ./... ./plane/... ./compat/... ./release/...
	$(MAKE) lint
	go test ./...
	$(MAKE) race
	go test ./compat/... ./release/...
	go test -p 1 -timeout 60m ./plane/...

.PHONY: unit
unit: ## only what needs no control plane
	go test ./...

HOURS ?= 1
FIRST ?= $(shell date +%s)000

.PHONY: soak
soak: ## play stories by chance for HOURS, from seed FIRST on; those that fail are printed as they can be written into internal/sim/testdata/stories
	go test ./internal/sim -run TestStoriesByChance -v -count 1 -timeout 0 -hours $(HOURS) -first $(FIRST)

.PHONY: bench-compare
bench-compare: ## measure us beside upstream's engine and write docs/performance.md anew (several minutes)
	go run ./compat/cmd/bench-compare -into docs/performance.md

.PHONY: ablate
ablate: ## measure what each mechanism of the engine earns and write docs/engine.md anew (half an hour)
	go run ./bench/cmd/ablate -into docs/engine.md

.PHONY: best
best: ## look longer for the best plans that prices are measured against (half an hour)
	go test ./bench -run TestPricesNearTheBest -best -timeout 2h

.PHONY: docs
docs: ## the site of the manual, bin/docs (needs mkdocs and mkdocs-material, as Debian has them)
	@mkdocs build --quiet --strict --clean
	@echo 'open $(BIN)/docs/index.html'

.PHONY: docs-record
docs-record: build ## record the lab's live view for the manual anew: docs/drawings/lab.cast and lab.svg (needs tmux)
	@go run ./plane/cmd/docs-record --lab $(BIN)/karpenter-lab --into docs/drawings/lab

.PHONY: generate
generate: ## write CRDs, deep copies, charts' copies and the manual's reference anew
	go generate ./...

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')
