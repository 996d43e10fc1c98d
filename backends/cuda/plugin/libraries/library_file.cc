#include "plugin/libraries/library_file.h"

#include <dlfcn.h>

#include <cstdlib>

namespace sluice::cuda {

void* open_library(const LibraryFile& file, std::string* problem) {
  const char* const variable = std::getenv(file.variable);
  std::string named = file.named;
  if (named.empty() && variable != nullptr) named = variable;
  const char* const name_alone = named.c_str();
  const std::span<const char* const> names =
      named.empty() ? file.usual : std::span<const char* const>(&name_alone, 1);
  for (const char* const name : names) {
    if (void* const opened = dlopen(name, RTLD_NOW | RTLD_LOCAL); opened != nullptr) return opened;
    *problem = dlerror();
  }
  return nullptr;
}

std::string file_of(const void* function) {
  Dl_info info = {};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

void* Binder::find(const char* name) {
  void* const found = dlsym(library_, name);
  if (found == nullptr) missing_ += std::string(" ") + name;
  return found;
}

}  // namespace sluice::cuda
