#include "backend/handshake.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/handle.h"

namespace sluice::backend {
namespace {

constexpr std::size_t kLongestName = 64;
/// The table of 1.0 ended before this; minor versions only add to its end.
constexpr std::uint32_t kFirstTableSize = offsetof(sluice_backend_api, find_extension);
/// Far above the size of any minor version: a larger `struct_size` means that this is not a table.
constexpr std::uint32_t kLargestTable = 1U << 16;

template <typename... Args>
Status refuse(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kFailedPrecondition, format, std::forward<Args>(args)...);
}

// `abi_major`, `abi_minor` and `struct_size` are the first fields and never move, so they may be
// read before anything is known about the version.
Status check_version(const sluice_backend_api& api) {
  if (api.abi_major != SLUICE_BACKEND_ABI_MAJOR) {
    return refuse("made for version {}.{} of the plug-in table; this host has {}.{}: rebuild it",
                  api.abi_major, api.abi_minor, SLUICE_BACKEND_ABI_MAJOR, SLUICE_BACKEND_ABI_MINOR);
  }
  if (api.struct_size < kFirstTableSize || api.struct_size > kLargestTable) {
    return refuse("its table says it has {} bytes; version {}.0 has {}", api.struct_size,
                  SLUICE_BACKEND_ABI_MAJOR, kFirstTableSize);
  }
  return ok_status();
}

/// The name of the first function that the table lacks; null if it is complete.
const char* first_missing(const sluice_backend_api& api) {
#define SLUICE_REQUIRE(function) \
  if (api.function == nullptr) return #function
  // Those of the first version alone: a table of that version ends behind them.
  SLUICE_REQUIRE(packing_key);
  SLUICE_REQUIRE(create);
  SLUICE_REQUIRE(destroy);
  SLUICE_REQUIRE(device_count);
  SLUICE_REQUIRE(device_describe);
  SLUICE_REQUIRE(op_query);
  SLUICE_REQUIRE(packing_query);
  SLUICE_REQUIRE(pack);
  SLUICE_REQUIRE(kernel_create);
  SLUICE_REQUIRE(kernel_destroy);
  SLUICE_REQUIRE(memory_allocate);
  SLUICE_REQUIRE(memory_free);
  SLUICE_REQUIRE(group_create);
  SLUICE_REQUIRE(group_destroy);
  SLUICE_REQUIRE(stream_create);
  SLUICE_REQUIRE(stream_destroy);
  SLUICE_REQUIRE(stream_wait);
  SLUICE_REQUIRE(list_create);
  SLUICE_REQUIRE(list_destroy);
  SLUICE_REQUIRE(list_add_kernel);
  SLUICE_REQUIRE(list_add_copy);
  SLUICE_REQUIRE(list_finish);
  SLUICE_REQUIRE(list_submit);
#undef SLUICE_REQUIRE
  return nullptr;
}

Result<const sluice_backend_api*> ask_for_table(sluice_backend_entry_fn entry,
                                                const std::string& name) {
  const sluice_backend_api* api = nullptr;
  const Status asked = call_plugin(name, [&](sluice_message* message) {
    api = entry(SLUICE_BACKEND_ABI_MAJOR, SLUICE_BACKEND_ABI_MINOR, message);
    return api != nullptr ? SLUICE_OK : SLUICE_FAILED_PRECONDITION;
  });
  if (!asked.is_ok()) return asked;
  // Before anything is read through the pointer.
  if (reinterpret_cast<std::uintptr_t>(api) % alignof(sluice_backend_api) != 0) {
    return refuse("its entry returned no table");
  }
  return api;
}

}  // namespace

std::optional<std::string> plugin_name(const std::filesystem::path& path) {
  constexpr std::string_view kPrefix = "libsluice_backend_";
  constexpr std::string_view kSuffix = ".so";
  const std::string file = path.filename().string();
  if (file.size() <= kPrefix.size() + kSuffix.size() || !file.starts_with(kPrefix) ||
      !file.ends_with(kSuffix)) {
    return std::nullopt;
  }
  return file.substr(kPrefix.size(), file.size() - kPrefix.size() - kSuffix.size());
}

std::optional<std::string> bounded_text(const char* text, std::size_t limit) {
  if (text == nullptr) return std::nullopt;
  const std::size_t size = strnlen(text, limit + 1);
  if (size > limit) return std::nullopt;
  return std::string(text, size);
}

Result<const sluice_backend_api*> shake_hands(const DynamicLibrary& library,
                                              const std::string& name) {
  const auto entry =
      reinterpret_cast<sluice_backend_entry_fn>(library.find_symbol(SLUICE_BACKEND_ENTRY));
  if (entry == nullptr) {
    return refuse("not a plug-in: it does not export {}", SLUICE_BACKEND_ENTRY);
  }
  return shake_hands(entry, name);
}

Result<const sluice_backend_api*> shake_hands(sluice_backend_entry_fn entry,
                                              const std::string& name) {
  const sluice_backend_api* api = SLUICE_TRY(ask_for_table(entry, name));
  SLUICE_TRY(check_version(*api));
  if (const char* missing = first_missing(*api); missing != nullptr) {
    return refuse("its table lacks the function {}", missing);
  }
  const auto declared = bounded_text(api->name, kLongestName);
  if (!declared || *declared != name) {
    return refuse("its name \"{}\" does not match its file name, \"{}\"", declared.value_or("?"),
                  name);
  }
  return api;
}

}  // namespace sluice::backend
