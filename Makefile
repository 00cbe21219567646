# A bare machine needs Linux, Go 1.26, make, git and a C compiler.
#
#   make demo   push a definition to Git, get a running cluster
#   make demo-disaster  lose a cluster with its volumes, get it back by a push
#   make test   everything that CI runs
#   make soak   what repeats the proofs of make test: each kill, each variant
#   make quick  build, vet and tests of what you changed, in 90 seconds
#   make shape  how simple the decision core is, and that it is no worse than it was
#   make differential  the CrateDB simulator beside a real CrateDB
#   make truth  the end-to-end tests on real nodes: kubelet, containerd, CrateDB
#   make chaos  every operation under load, with nodes and the daemon killed
#   make        build bin/stevedore, the sandbox's control plane and the S3 server of the tests
SHELL := /bin/bash
export GOTOOLCHAIN := local
# Without the paths of this checkout in what is built, a second checkout of the same
# source finds all of it in Go's and staticcheck's caches: the linter of a fresh clone
# then needs seconds, not minutes.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
# One kind of build for the binary, vet and the linter: each kind compiles all
# dependencies once more. The race detector needs cgo, and says so below.
export CGO_ENABLED := 0

BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
KUBERNETES := v1.36.3
CONTROLPLANE_DIR := internal/sandbox/controlplane
export STEVEDORE_CONTROLPLANE := $(BIN)/stevedore-controlplane
export STEVEDORE_BINARY := $(BIN)/stevedore
# The same binary with marks at each outgoing write, at which it can be told to
# die: for the tests that kill it, never to be shipped.
export STEVEDORE_FAULTS_BINARY := $(BIN)/stevedore-faults
# An S3 server for tests, from a nested module.
S3SERVER_DIR := internal/s3server
export STEVEDORE_S3 := $(BIN)/stevedore-s3
# What real nodes are made of: docs/sandbox.md.
REALNODES_DIR := internal/realnodes
export STEVEDORE_NODE := $(BIN)/stevedore-node
export STEVEDORE_DNS := $(BIN)/stevedore-dns
export STEVEDORE_IMAGES := $(BIN)/images

.PHONY: s3server digest shape quick truth truth-files differential all build image-files faults controlplane demo demo-disaster test lint unit bench peers soak fuzz simulate replay mutants chaos fmt clean
all: build controlplane s3server

build:
	@mkdir -p $(BIN)
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/stevedore ./cmd/stevedore

# What deploy/Containerfile copies. CA_CERTIFICATES is the bundle of this machine;
# GOOS and GOARCH make it for another.
CA_CERTIFICATES ?= $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))
image-files: build
	@test -n "$(CA_CERTIFICATES)" || { echo "no bundle of certificate authorities on this machine: name one with CA_CERTIFICATES=FILE"; exit 1; }
	cp $(CA_CERTIFICATES) $(BIN)/ca-certificates.crt

faults:
	@mkdir -p $(BIN)
	go build -tags faults -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/stevedore-faults ./cmd/stevedore

s3server: $(STEVEDORE_S3)
$(STEVEDORE_S3): $(wildcard $(S3SERVER_DIR)/*.go) $(S3SERVER_DIR)/go.mod $(S3SERVER_DIR)/go.sum
	@mkdir -p $(BIN)
	cd $(S3SERVER_DIR) && go build -trimpath -ldflags "-s -w" -o $@ .

# Built once: etcd, kube-apiserver, kube-controller-manager and kube-scheduler
# in one binary, from their Go modules. Minutes at first, nothing afterwards.
controlplane: $(BIN)/stevedore-controlplane
$(BIN)/stevedore-controlplane: $(wildcard $(CONTROLPLANE_DIR)/*.go) $(CONTROLPLANE_DIR)/go.mod $(CONTROLPLANE_DIR)/go.sum
	@mkdir -p $(BIN)
	@echo "building the sandbox's control plane ($(KUBERNETES)) from its modules: 4 to 7 minutes on 2 cores the first time"
	@cd $(CONTROLPLANE_DIR) && start=$$SECONDS; \
	  ( go build -trimpath -ldflags "-s -w \
	    -X k8s.io/component-base/version.gitVersion=$(KUBERNETES) \
	    -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" \
	    -o $@.new . ) & build=$$!; \
	  while kill -0 $$build 2>/dev/null; do \
	    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do kill -0 $$build 2>/dev/null && sleep 1; done; \
	    kill -0 $$build 2>/dev/null && echo "  still building, $$((SECONDS-start)) s"; \
	  done; wait $$build && mv $@.new $@ && echo "  control plane built in $$((SECONDS-start)) s"

# The end-to-end tests on real nodes: kubelets, containerd and the CrateDB of
# CRATEDB_HOME. It needs root and some packages of Debian, and says which. TRUTH
# chooses tests; those that touch nodes are the default.
TRUTH ?=
TRUTH_NODES ?= 6
truth: truth-files build faults
	STEVEDORE_REAL_NODES=$(TRUTH_NODES) go test ./internal/e2e -run '$(TRUTH)' -count 1 -parallel 1 -timeout 90m -v
	@test -n '$(TRUTH)' || STEVEDORE_REAL_NODES=1 go test ./internal/realnodes -count 1 -timeout 30m -v

# What `make truth` and `go run ./internal/realnodes/run` need besides the binary.
truth-files: controlplane $(STEVEDORE_NODE) $(STEVEDORE_DNS)
	@go run ./$(REALNODES_DIR)/makeimages -to $(STEVEDORE_IMAGES)

$(STEVEDORE_NODE): $(REALNODES_DIR)/kubernetes/main.go $(REALNODES_DIR)/kubernetes/go.mod $(REALNODES_DIR)/kubernetes/go.sum
	@mkdir -p $(BIN)
	@echo "building kubelet and kube-proxy ($(KUBERNETES)) from their modules: some minutes the first time"
	cd $(REALNODES_DIR)/kubernetes && go build -trimpath -ldflags "-s -w \
	  -X k8s.io/component-base/version.gitVersion=$(KUBERNETES) \
	  -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" -o $@ .

$(STEVEDORE_DNS): $(REALNODES_DIR)/dns/main.go $(REALNODES_DIR)/dns/go.mod $(REALNODES_DIR)/dns/go.sum
	@mkdir -p $(BIN)
	@echo "building CoreDNS from its modules: some minutes the first time"
	cd $(REALNODES_DIR)/dns && go build -trimpath -ldflags "-s -w" -o $@ .

demo: build controlplane
	go run ./internal/demo

demo-disaster: build controlplane
	go run ./internal/demo disaster

# A linker uses one core most of the time: two of them go beside each other.
test:
	@$(MAKE) --no-print-directory -j 2 build faults controlplane s3server lint
	@$(MAKE) --no-print-directory unit

# The control plane's two files are left out: vet would first have to go through
# all of Kubernetes, which takes minutes.
lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go tool staticcheck ./...
	cd $(CONTROLPLANE_DIR) && go vet -trimpath ./...
	cd $(S3SERVER_DIR) && go vet ./... && go test ./...

# Two runs beside each other: with the race detector what starts goroutines, and without it what
# starts none. It makes pure code three to eight times as slow. The end-to-end tests are without it
# too: what they test is another process. What takes long and mostly waits comes first. A line for
# each package when it has ended, and each minute what is under way.
RACED := ./internal/sandbox ./ops/cratedb ./cmd/stevedore ./internal/cratesim/differential ./render ./sources/git ./apply ./internal/chaos \
  ./internal/reports ./internal/daemon ./internal/hunts ./internal/check ./internal/confine ./internal/cratesim ./internal/gitserver \
  ./internal/progress ./internal/realnodes ./internal/receiver ./internal/sandbox/agent ./internal/sidebyside ./internal/simulation/simulate \
  ./internal/telemetry ./internal/testcluster ./render/untrusted ./sources ./sources/directory ./sources/tree
UNRACED_FIRST := ./internal/e2e ./internal/readme ./internal/simulation ./ops
# A heap that grows five times before it is collected saves a tenth of the processors' time; the
# API server's would come to 1.7 GiB.
unit:
	@set -o pipefail; export GOGC=400 GOMEMLIMIT=1GiB; unraced=$$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -vxF "$$(go list $(RACED))") && \
	go run ./internal/progress env CGO_ENABLED=1 go test -json -race -vet=off -ldflags "-s -w" -p 3 -timeout 40m $(RACED) \
	  -- go test -json -vet=off -ldflags "-s -w" -p 2 -timeout 40m $(UNRACED_FIRST) $$unraced

# What you changed since SINCE, and the tests that need no sandbox.
SINCE ?= main
LIMIT ?= 90s
quick: s3server
	@go run ./internal/quick -since $(SINCE) -limit $(LIMIT)

# Sizes, cycles, long functions and conditions of ops, against what is allowed:
# docs/architecture.md. SHAPE=-list prints what each measure counts.
SHAPE ?=
shape:
	@go run ./internal/shape/run $(SHAPE)

# Go's benchmarks, then stevedore beside kubectl and kapp: docs/performance.md.
SIZES ?= 1 100
BENCH_FLAGS ?=
bench: build controlplane peers
	go test -run '^$$' -bench . -benchmem ./...
	go run ./internal/sidebyside -sizes "$(SIZES)" $(BENCH_FLAGS)

# kubectl and kapp, each from a nested module with only what it needs; minutes at
# first. Without kapp the bench goes on with kubectl alone.
peers: $(BIN)/kubectl $(BIN)/kapp
$(BIN)/kubectl: internal/sidebyside/kubectl/main.go internal/sidebyside/kubectl/go.mod internal/sidebyside/kubectl/go.sum
	@echo "building kubectl ($(KUBERNETES)) from its modules: some minutes the first time"
	cd internal/sidebyside/kubectl && go build -trimpath -ldflags "-s -w" -o $@ .
$(BIN)/kapp: internal/sidebyside/kapp/go.mod internal/sidebyside/kapp/go.sum
	@echo "building kapp from its modules: some minutes the first time"
	-cd internal/sidebyside/kapp && go build -trimpath -ldflags "-s -w" -o $@ carvel.dev/kapp/cmd/kapp

# Long random runs; SEED chooses the schedule.
SEED ?= 1
soak: build faults controlplane
	STEVEDORE_SOAK=1 STEVEDORE_SEED=$(SEED) CGO_ENABLED=1 go test -race -timeout 6h -count 1 -run Soak ./...

# Each fuzz target for FUZZTIME, one after the other: what strangers can send.
# `make test` runs their seeds and what they found before. FUZZ chooses some. An
# input that reaches something new is made smaller in ten tries: Go's own minute
# leaves nothing of a short run.
FUZZTIME ?= 1m
FUZZ ?= Fuzz
fuzz:
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
	  grep -ho '^func Fuzz[A-Za-z]*' $$dir/*_test.go | cut -d' ' -f2 | grep -e '$(FUZZ)' | while read -r target; do \
	    echo "$$dir $$target for $(FUZZTIME)"; \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$dir </dev/null || exit 1; \
	  done || exit 1; done

# Every operation under an application's load, with nodes and the daemon killed:
# docs/chaos.md. CRATEDB_HOME makes the nodes real, STEVEDORE_REAL_NODES the machines too;
# CHAOS is for more flags.
CHAOS ?=
chaos: build controlplane
	go run ./internal/chaos/run -seed $(SEED) $(CHAOS)

# Histories in virtual time, N of them from SEED on over all cores; replay tells
# the story of the one of SEED, of what a violation needs only.
N ?= 100000
simulate:
	go run ./internal/simulation/simulate -seed $(SEED) -n $(N)

# One hash of all that is decided in N histories, without its words: run it before and
# after code was moved or renamed.
digest:
	go run ./internal/simulation/simulate -digest -seed $(SEED) -n $(N)

# Plans of N random changes in virtual time, each compared with what is then done.
plans:
	STEVEDORE_PLANS=$(N) go test ./internal/simulation -run TestWhatIsPlannedIsWhatIsDone -count 1 -timeout 6h -v

replay:
	@go run ./internal/simulation/simulate -seed $(SEED) -replay

# N random situations from SEED on, on the CrateDB simulator and on a real CrateDB of
# CRATEDB_HOME, compared statement by statement: docs/differential.md. RELEASE is the
# release, DIFFERENTIAL more flags.
RELEASE ?= 6.4.3
DIFFERENTIAL ?=
differential: N = 200
differential:
	@test -n "$(CRATEDB_HOME)" || { echo "make differential needs CRATEDB_HOME: an unpacked release of CrateDB, or a folder with one for each version (crate-$(RELEASE))"; exit 1; }
	@go run ./internal/cratesim/differential/run -version $(RELEASE) -seed $(SEED) -n $(N) $(DIFFERENTIAL)

# Each rule, re-read, write and give-back taken out in turn: does the simulation
# notice within N schedules? ONLY chooses some of them by kind, name or file;
# RESULTS is a file that keeps what a run that was cut has found.
mutants: N = 20000
mutants: SEED = 6100000000
mutants:
	@go run ./internal/simulation/mutants -seed $(SEED) -n $(N) -only '$(ONLY)' -o '$(RESULTS)'

fmt:
	gofmt -w $$(git ls-files '*.go')

clean:
	rm -rf $(BIN)
