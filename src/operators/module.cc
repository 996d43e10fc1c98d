// A module is opened from memory, so that the bytes that were compared are those that run. Its name
// for the dynamic linker is that of a descriptor, which stays open: under the name of a closed one
// the linker would give the library that had the descriptor before.
#include "operators/module.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/digest/sha256.h"
#include "base/file.h"
#include "base/system/dynlib.h"
#include "base/utf8.h"
#include "operators/registered_operator.h"
#include "package/memory_file.h"
#include "sluice/host_backend.hpp"
#include "sluice/operators.h"

namespace sluice::operators {
namespace {

constexpr std::size_t kMaxModules = 256;
constexpr std::size_t kMaxModuleOperators = 4096;

/// What this process has opened and may open. Nothing is ever removed: models keep operators.
struct ModuleTable {
  std::mutex mutex;  ///< also held while a module is opened, so that none is opened twice
  std::set<std::string, std::less<>> allowed;
  std::map<std::string, Status, std::less<>> opened;  ///< by digest, with what came of it
  std::vector<package::MemoryFile> files;
};

ModuleTable& module_table() {
  static auto* const kTable = new ModuleTable;  // threads may load models while the process exits
  return *kTable;
}

/// What the module's function gives. Code of others: it may throw.
Result<const sluice_operator_module*> call_entry(void* symbol) {
  const auto entry = reinterpret_cast<sluice_operator_module_entry>(symbol);
  const sluice_operator_module* given = nullptr;
  const plugin::Status called = plugin::catch_all([&]() -> plugin::Status {
    given = entry();
    return {};
  });
  if (!called.is_ok()) return invalid_argument("its entry function threw: {}", called.text);
  // A newer module's struct may be longer.
  if (given == nullptr || given->struct_size < sizeof(*given) ||
      given->num_operators > kMaxModuleOperators ||
      (given->operators == nullptr && given->num_operators > 0)) {
    return invalid_argument("its entry function gives no list of at most {} operators",
                            kMaxModuleOperators);
  }
  return given;
}

Status register_all(const sluice_operator_module& module) {
  for (std::size_t i = 0; i < module.num_operators; ++i) {
    const sluice_operator* op = module.operators[i];
    if (op == nullptr) return invalid_argument("operator {} is null", i);
    SLUICE_TRY(register_operator(*op, OperatorOrigin::kModule)
                   .with_context(fmt::format("operator {}", i)));
  }
  return ok_status();
}

Status open_bytes(const Bytes& data, std::vector<package::MemoryFile>& files) {
  auto file = SLUICE_TRY(package::MemoryFile::create());
  SLUICE_TRY(file.append(data.view()));
  const auto library = DynamicLibrary::open(fmt::format("/proc/self/fd/{}", file.fd()));
  if (!library.is_ok()) return invalid_argument("{}", library.status().message());
  files.push_back(std::move(file));
  void* const symbol = library->find_symbol(SLUICE_OPERATOR_MODULE_ENTRY);
  if (symbol == nullptr) {
    return invalid_argument(
        "it exports no function \"{}\", which gives its operators (sluice/operators.h)",
        SLUICE_OPERATOR_MODULE_ENTRY);
  }
  return register_all(*SLUICE_TRY(call_entry(symbol)));
}

/// Requires: the caller holds the table's mutex.
Status open_once(ModuleTable& table, const std::string& sha256, const Bytes& data) {
  if (const auto known = table.opened.find(sha256); known != table.opened.end()) {
    return known->second;
  }
  if (table.opened.size() >= kMaxModules) {
    return make_error(Code::kResourceExhausted, "this process has opened {} modules of operators",
                      kMaxModules);
  }
  Status opened = open_bytes(data, table.files);
  table.opened.emplace(sha256, opened);
  return opened;
}

std::string fact_of(const package::Executable& executable, const char* key) {
  const auto fact = executable.graph.metadata.find(key);
  return fact == executable.graph.metadata.end() ? "" : fact->second;
}

/// For messages. A file's author wrote the name, who is anybody.
std::string described(const package::Executable& executable) {
  const std::string name = fact_of(executable, kModuleFact);
  const bool is_printable = !name.empty() && check_name(name, "module").is_ok();
  return fmt::format("module of operators \"{}\"", is_printable ? name : kModuleFile);
}

Status open_carried(ModuleTable& table, const package::Executable& executable,
                    const std::string& sha256) {
  if (table.opened.contains(sha256)) return open_once(table, sha256, {});
  const auto file = executable.files.find(kModuleFile);
  if (file == executable.files.end() || !is_sha256(sha256)) {
    return make_error(Code::kDataLoss, "the package has no file \"{}\" with a SHA-256 of it",
                      kModuleFile);
  }
  if (!table.allowed.contains(sha256)) {
    return make_error(
        Code::kPermissionDenied,
        "this process may not run its code; if you trust it, allow its SHA-256 {}: with `sluice "
        "run --allow-operators`, the daemon's setting allow_operators, or sluice_operator_allow; "
        "worker processes run no code of packages",
        sha256);
  }
  SLUICE_TRY(executable.verify(file->second, fmt::format("file \"{}\"", kModuleFile)));
  const std::string actual = sha256_of(file->second.view());
  if (actual == sha256) return open_once(table, sha256, file->second);
  return make_error(Code::kDataLoss, "its SHA-256 is {}, the package says {}", actual, sha256);
}

}  // namespace

Result<Module> open_module(const std::filesystem::path& path) {
  // A copy: what is carried must be what was opened, whatever becomes of the file.
  const Bytes file = SLUICE_TRY(map_file(path));
  Module module = {path.filename().string(), "", MutableBytes::copy_of(file.view()).freeze()};
  module.sha256 = sha256_of(module.data.view());
  ModuleTable& table = module_table();
  const std::lock_guard lock(table.mutex);
  SLUICE_TRY(open_once(table, module.sha256, module.data).with_context(path.string()));
  return module;
}

Status allow_module(std::string_view sha256) {
  if (!is_sha256(sha256)) {
    return invalid_argument(
        "\"{}\" is no SHA-256; give 64 hexadecimal digits in small letters, as `sha256sum` and "
        "`sluice inspect` print them",
        sha256.substr(0, 80));
  }
  ModuleTable& table = module_table();
  const std::lock_guard lock(table.mutex);
  if (table.allowed.contains(sha256)) return ok_status();
  if (table.allowed.size() >= kMaxModules) {
    return make_error(Code::kResourceExhausted, "{} modules of operators are allowed already",
                      kMaxModules);
  }
  table.allowed.emplace(sha256);
  return ok_status();
}

Status open_module_of(const package::Executable& executable) {
  const std::string sha256 = fact_of(executable, kModuleDigestFact);
  if (sha256.empty() && !executable.files.contains(kModuleFile)) return ok_status();
  ModuleTable& table = module_table();
  const std::lock_guard lock(table.mutex);
  return open_carried(table, executable, sha256).with_context(described(executable));
}

}  // namespace sluice::operators
