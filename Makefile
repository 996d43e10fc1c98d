# Thin front to CMake and scripts/: `make demo`, `make test`. PRESET=dev|asan|tsan for another build.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

.PHONY: build demo package test check format clean

build:
	@scripts/install-deps build
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target dist

demo: build
	@SLUICE=$(CURDIR)/$(BUILD)/bin/sluice examples/digits/demo

# A .deb and a tarball of the same files, for /usr and /etc.
package:
	@scripts/install-deps build package
	@cmake --preset $(PRESET) -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target packaged
	@cd $(BUILD) && cpack --config packaging.cmake >packages.log 2>&1 || { cat packages.log >&2; exit 1; }
	@ls $(BUILD)/packages/*.deb $(BUILD)/packages/*.tar.gz

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
