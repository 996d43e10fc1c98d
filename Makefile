# Thin front to CMake and scripts/: `make demo`, `make test`. PRESET=dev|asan|tsan for another build.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

.PHONY: build demo test check format clean

build:
	@scripts/install-deps build
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target dist

demo: build
	@SLUICE=$(CURDIR)/$(BUILD)/bin/sluice examples/digits/demo

test:
	@scripts/install-deps build test
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)
	@scripts/run-tests --build $(BUILD) --jobs $(JOBS)

check:
	@scripts/install-deps build check
	@scripts/check

format:
	@scripts/format

clean:
	rm -rf build
