# starpush: targets for developers. `make check` is what CI runs first.
GO ?= go

.PHONY: all check test staticcheck race invariants conformance drivers ulp planted bench bench-ranks bench-kernels cuda cuda-test update fuzz soak soak-oracle soak-kernels fmt

all: check

## check: tests, vet, staticcheck, formatting
check: test staticcheck
	$(GO) vet ./...
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run: make fmt"; exit 1; }

## test: all tests, as in README.md
test:
	$(GO) test ./...

## staticcheck: the checks of staticcheck, at a fixed version that is no dependency of the module
staticcheck:
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

## race: the concurrent packages and the scripts under the race detector
race:
	$(GO) test -race ./engine/... ./datamgr/... ./lang/... ./tests/...

## invariants: random programs of the engine, built with the tag invariants: it checks what the code relies on (datamgr/invariants)
invariants:
	$(GO) vet -tags invariants ./engine/... ./datamgr/...
	$(GO) test -tags invariants ./engine ./datamgr ./datamgr/invariants -run 'TestInvariants|TestViolated|TestRandom|TestHammer'

## conformance: every case with 1, 2, 4, 8 workers under every policy, REPEAT times, under the race detector; on one machine with MACHINE=sim:cpu8gpu4 or MACHINE=opencl, with so many bytes of main memory with RAM=65536
MACHINE ?=
RAM ?= 0
REPEAT ?= 20
conformance:
	$(GO) test -race ./tests -run 'TestP[0-9]' -repeat $(REPEAT) -machine '$(MACHINE)' -ram $(RAM) -timeout 0

## drivers: every case and random programs for SOAK on devices with drivers: OpenCL's, and one for CUDA that is made of C
drivers:
	$(GO) test ./tests -run 'TestP[0-9]' -repeat $(REPEAT) -machine opencl -timeout 0
	$(GO) test ./engine -run TestRandomPrograms -machine opencl -soak $(SOAK) -seed $(SEED) -timeout 0
	eval "$$(sh accel/cuda/env.sh)" && $(GO) test -tags cuda ./tests -run 'TestP[0-9]' -repeat $(REPEAT) -machine cuda-fake -timeout 0
	eval "$$(sh accel/cuda/env.sh)" && $(GO) test -tags cuda ./tests -run 'TestScripts/.*/cuda-fake|TestFaults|TestCopyBackFails|TestDeviceMemory|TestMemoryTakenByOthers'
	eval "$$(sh accel/cuda/env.sh)" && $(GO) test -tags cuda ./engine -run 'TestRandomPrograms|TestRandomLosses' -machine cuda-fake -soak $(SOAK) -seed $(SEED) -timeout 0

## ulp: the largest errors of the elementary functions, for all float32 arguments and a million float64 arguments of each
ulp:
	$(GO) test ./lang/kernel/elementary -run TestULP -v -ulp -timeout 0

## planted: break the protocols of the engine one at a time; the tests must notice each. FAULTS="name..." for some
FAULTS ?=
planted:
	$(GO) run ./tests/planted $(FAULTS)

## bench: starpush beside the peers that the machine has, in one table; BENCH="rounds=9 md=1"
BENCH ?=
bench:
	$(GO) run ./tests/bench peers $(BENCH)

## bench-ranks: programs on several ranks of this machine beside StarPU-MPI; BENCH="rounds=9 only=heat md=1"
bench-ranks:
	$(GO) run ./tests/bench ranks $(BENCH)

## bench-kernels: bodies of codelets as machine code and in strips beside the same loops in C; BENCH="rounds=9 rows=axpy.*"; with BENCH=workers=2 or BENCH=short without C
bench-kernels:
	$(GO) run ./tests/bench kernels $(BENCH)

## cuda: the build for NVIDIA devices, without a CUDA toolkit: bin/starpush
cuda:
	eval "$$(sh accel/cuda/env.sh)" && $(GO) vet -tags cuda ./accel/... && $(GO) build -tags cuda -o bin/ ./cmd/starpush

## cuda-test: the tests of accel/cuda, against the driver of the machine or one made of C
cuda-test:
	eval "$$(sh accel/cuda/env.sh)" && $(GO) test -tags cuda ./accel/cuda/... ./engine/enginetest

## update: regenerate golden files; look at the diff before committing
update:
	STARPUSH_UPDATE=1 $(GO) test ./...

## fuzz: every fuzz target for FUZZTIME each
FUZZTIME ?= 60s
fuzz:
	@set -e; grep -rl '^func Fuzz' --include='*_test.go' . | while read f; do \
		d=$$(dirname $$f); \
		grep -o '^func Fuzz[A-Za-z0-9_]*' $$f | sed 's/func //' | while read t; do \
			echo "== $$d $$t"; $(GO) test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) $$d; done; done

## soak: random programs against their sequential meaning for SOAK, random scripts against an oracle for as long, then hammer tests for a quarter of it, and contexts that end at any moment for a sixth; SEED to begin elsewhere
SOAK ?= 1h
SEED ?= 1
soak: soak-oracle
	$(GO) test ./engine -run 'TestRandomPrograms|TestRandomLosses|TestHammer$$' -soak $(SOAK) -seed $(SEED) -timeout 0 -v
	$(GO) test -race ./lang -run TestDeadlines -soak $(SOAK) -timeout 0 -v

## soak-oracle: random scripts against the oracle of tests/oracle for SOAK, from SEED on
soak-oracle:
	$(GO) test ./tests/oracle -run TestRandomPrograms -soak $(SOAK) -seed $(SEED) -timeout 0 -v

## soak-kernels: random bodies of codelets as machine code against strips, for SOAK each of two kinds, from SEED on
soak-kernels:
	STARPUSH_NEED_LLVM=1 $(GO) test ./lang/kernel/llvm -run 'TestRandom' -soak $(SOAK) -seed $(SEED) -timeout 0 -v

fmt:
	gofmt -w $$(git ls-files '*.go')
