# Thin front to CMake and scripts/: `make demo`, `make test`. PRESET=dev|asan|tsan for another build.
PRESET ?= release
JOBS ?= $(shell nproc)
# Many tests wait for limits of a daemon or a cluster, and use no processor meanwhile.
TESTS ?= $(shell echo $$(($(JOBS) + 4)))
BUILD := build/$(PRESET)

.PHONY: build demo package wheel test test-python-apps test-torch check format clean

build:
	@scripts/install-deps build
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target dist

# Builds less than `build`: no daemon, no tests. `make test` continues in the same folder.
demo:
	@scripts/demo $(PRESET) $(JOBS)

# A .deb and a tarball of the same files, for /usr and /etc.
package:
	@scripts/install-deps build package
	@cmake --preset $(PRESET) -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target packaged
	@cd $(BUILD) && cpack --config packaging.cmake >packages.log 2>&1 || { cat packages.log >&2; exit 1; }
	@ls $(BUILD)/packages/*.deb $(BUILD)/packages/*.tar.gz

# One Python wheel with the libraries, the plug-ins and the command: build/release/wheels.
wheel:
	@scripts/install-deps build test wheel
	@cmake --preset $(PRESET) -DCMAKE_INSTALL_PREFIX=/usr/local >/dev/null # `make package` leaves /usr
	@cmake --build $(BUILD) --parallel $(JOBS) --target dist
	@scripts/build-wheel $(BUILD)

test:
	@scripts/install-deps build test
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)
	@scripts/run-tests --build $(BUILD) --jobs $(TESTS) -LE torch

# Applications from PyPI over sluice.onnxruntime; downloads them.
test-python-apps:
	@scripts/install-deps build test
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target sluice_native dist
	@scripts/test-python-apps $(BUILD)

# The tests of sluice.torch; downloads torch once, into ~/.cache/sluice. Without a network it skips them, with the reason.
test-torch:
	@scripts/install-deps build test
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS) --target sluice_native dist
	@scripts/test-torch --make $(BUILD) -n $(JOBS) --dist worksteal || [ $$? -eq 77 ]

check:
	@scripts/install-deps build check
	@scripts/check

format:
	@scripts/format

clean:
	rm -rf build
