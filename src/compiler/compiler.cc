// The functions of sluice/compile.h.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/last_error.h"
#include "api/read_options.h"
#include "base/file.h"
#include "compiler/cache_key.h"
#include "compiler/compile_model.h"
#include "compiler/program_operators.h"
#include "compiler/trace_handle.h"
#include "package/draft.h"
#include "package/package.h"
#include "package/package_bytes.h"
#include "sluice/compile.h"

struct sluice_package {
  sluice::package::Executable executable;
  std::optional<sluice::Bytes> bytes;  // made by the first call that asks for them
};

namespace sluice::compiler {
namespace {

/// `file` keeps the mapping of a file descriptor alive.
Result<Source> source_of(const sluice_compile_request& request, Bytes& file) {
  const int named = (request.path != nullptr ? 1 : 0) + (request.data != nullptr ? 1 : 0) +
                    (request.has_fd != 0 ? 1 : 0) + (request.trace != nullptr ? 1 : 0);
  if (named != 1) {
    return invalid_argument("a request names its model by one of path, data, fd and trace, not {}",
                            named);
  }
  if (request.path != nullptr && *request.path == '\0') {
    return invalid_argument("the path is empty");
  }
  Source source;
  if (request.folder != nullptr) source.folder = request.folder;
  if (request.path != nullptr) {
    source.path = request.path;
  } else if (request.data != nullptr) {
    source.bytes = {static_cast<const std::byte*>(request.data), request.size_bytes};
  } else if (request.trace != nullptr) {
    source.graph = SLUICE_TRY(request.trace->recorder.graph());
  } else {
    // By the descriptor's name under /proc, so that a file without a path (memfd, an unlinked one)
    // can be mapped too. The caller's descriptor stays open and its own.
    file = SLUICE_TRY(map_file("/proc/self/fd/" + std::to_string(request.fd))
                          .with_context(fmt::format("file descriptor {}", request.fd)));
    source.bytes = file.view();
  }
  return source;
}

Result<std::vector<std::string>> options_of(const sluice_compile_request& request) {
  std::vector<std::string> options;
  if (request.num_options > 0 && request.options == nullptr) {
    return invalid_argument("options is null, num_options is {}", request.num_options);
  }
  for (std::size_t i = 0; i < request.num_options; ++i) {
    if (request.options[i] == nullptr) return invalid_argument("option {} is null", i);
    options.emplace_back(request.options[i]);
  }
  return options;
}

backend::BackendRegistry backends_of(const sluice_compile_request& request) {
  backend::Discovery discovery;
  if (request.backend_dir != nullptr) discovery.paths.emplace_back(request.backend_dir);
  return backend::BackendRegistry::discover(discovery);
}

Result<package::Executable> compile(const sluice_compile_request& given) {
  // A caller compiled against an older header gives a shorter struct; the rest reads as zeros.
  const sluice_compile_request request = api::read_options(&given);
  Bytes file;
  const Source source = SLUICE_TRY(source_of(request, file));
  const auto flags = SLUICE_TRY(options::parse_compile_flags(SLUICE_TRY(options_of(request))));
  SLUICE_TRY(register_operators(request.operators, request.num_operators));
  std::function<void(std::string_view)> progress;
  if (request.progress != nullptr) {
    progress = [&](std::string_view phase) {
      request.progress(request.user_data, std::string(phase).c_str());
    };
  }
  const auto registry = backends_of(request);
  Outcome outcome = {.progress = std::move(progress)};
  if (request.output == nullptr) return compile_model(source, flags, registry, std::move(outcome));
  // Created first: a path that cannot be written fails before the compilation, not after it.
  package::Draft draft = SLUICE_TRY(package::Draft::create(request.output));
  outcome.draft = &draft;
  auto executable = SLUICE_TRY(compile_model(source, flags, registry, std::move(outcome)));
  SLUICE_TRY(draft.finish(executable));
  return executable;
}

Result<std::string> key(const sluice_compile_request& given) {
  const sluice_compile_request request = api::read_options(&given);
  Bytes file;
  const Source source = SLUICE_TRY(source_of(request, file));
  const auto flags = SLUICE_TRY(options::parse_compile_flags(SLUICE_TRY(options_of(request))));
  return cache_key(source, flags, backends_of(request));
}

}  // namespace
}  // namespace sluice::compiler

using sluice::invalid_argument;
using sluice::api::guard;

int32_t sluice_compile(const sluice_compile_request* request, sluice_package** package) {
  return guard([&]() -> sluice::Status {
    if (package == nullptr) return invalid_argument("package is null");
    *package = nullptr;
    if (request == nullptr) return invalid_argument("request is null");
    // Apart from `new`, whose memory a failure would leave behind.
    auto executable = SLUICE_TRY(sluice::compiler::compile(*request));
    *package = new sluice_package{std::move(executable), std::nullopt};
    return sluice::ok_status();
  });
}

int32_t sluice_compile_key(const sluice_compile_request* request, char* key, size_t capacity) {
  return guard([&]() -> sluice::Status {
    if (request == nullptr || key == nullptr) return invalid_argument("request or key is null");
    const std::string text = SLUICE_TRY(sluice::compiler::key(*request));
    if (capacity <= text.size()) {
      return invalid_argument("a key takes {} bytes, there is room for {}", text.size() + 1,
                              capacity);
    }
    text.copy(key, text.size());
    key[text.size()] = '\0';
    return sluice::ok_status();
  });
}

const char* sluice_compile_last_error(void) { return sluice::api::last_error(); }

size_t sluice_package_num_operations(const sluice_package* package) {
  return package == nullptr ? 0 : package->executable.graph.main().num_operations();
}

int32_t sluice_package_save(const sluice_package* package, const char* path) {
  return guard([&]() -> sluice::Status {
    if (package == nullptr || path == nullptr) return invalid_argument("package or path is null");
    return sluice::package::write_package(package->executable, path);
  });
}

int32_t sluice_package_bytes(sluice_package* package, const void** data, size_t* size_bytes) {
  return guard([&]() -> sluice::Status {
    if (package == nullptr || data == nullptr || size_bytes == nullptr) {
      return invalid_argument("package, data or size_bytes is null");
    }
    // Made once: the pointer that the caller gets is valid until it frees the package.
    if (!package->bytes) {
      package->bytes = SLUICE_TRY(sluice::package::package_bytes(package->executable));
    }
    *data = package->bytes->data();
    *size_bytes = package->bytes->size();
    return sluice::ok_status();
  });
}

void sluice_package_free(sluice_package* package) { delete package; }
