#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "api/runtime/client_table.h"
#include "base/log/event_log.h"
#include "base/system/dynlib.h"
#include "sluice/sluice.h"

namespace sluice::api {
namespace {

constexpr const char* kFileName = "libsluice_client.so.0";

std::filesystem::path library_path() {
  Dl_info info = {};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&connect_runtime), &info) != 0 &&
      info.dli_fname != nullptr) {
    const auto beside = std::filesystem::absolute(info.dli_fname, error).parent_path() / kFileName;
    if (std::filesystem::exists(beside, error)) return beside;
  }
  return kFileName;  // where the dynamic linker looks
}

Result<const ClientTable*> open_table() {
  const std::filesystem::path path = library_path();
  auto library = DynamicLibrary::open(path);
  if (!library.is_ok()) {
    return unimplemented("connecting needs {}, which is not installed beside libsluice: {}",
                         kFileName, library.status().message());
  }
  const auto entry = reinterpret_cast<ClientEntry>(library->find_symbol(kClientEntry));
  const ClientTable* table = entry == nullptr ? nullptr : entry();
  if (table == nullptr || std::string_view(table->version) != sluice_version()) {
    return unimplemented("{} is of version {}, libsluice of {}: install both from one release",
                         path.string(), table == nullptr ? "?" : table->version, sluice_version());
  }
  return table;
}

}  // namespace

Result<std::unique_ptr<Runtime>> connect_runtime(const ConnectSettings& settings) {
  static const Result<const ClientTable*> table = open_table();
  if (!table.is_ok()) return table.status();
  auto runtime = (*table)->connect(settings);
  if (runtime.is_ok()) {
    log_event(LogLevel::kInfo, "daemon.connected address={}", in_quotes(settings.address));
  }
  return runtime;
}

}  // namespace sluice::api
