#include "plugin/libraries/testing/fake_libraries.h"

#include <dlfcn.h>

namespace sluice::cuda::testing {
namespace {

/// The object that `name` of the library `file` returns.
template <typename Fake>
Fake& find_fake(const char* file, const char* name) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return *reinterpret_cast<Fake* (*)()>(dlsym(library, name))();
}

}  // namespace

FakeCublasLt& fake_cublaslt() {
  return find_fake<FakeCublasLt>(SLUICE_FAKE_CUBLASLT, "sluice_fake_cublaslt");
}

FakeCudnn& fake_cudnn() { return find_fake<FakeCudnn>(SLUICE_FAKE_CUDNN, "sluice_fake_cudnn"); }

LibraryOptions fake_library_options() {
  LibraryOptions options;
  options.are_used = true;
  options.cublaslt = SLUICE_FAKE_CUBLASLT;
  options.cudnn = SLUICE_FAKE_CUDNN;
  return options;
}

}  // namespace sluice::cuda::testing
