// Checks of a plug-in's table before any of its functions is called.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/system/dynlib.h"
#include "sluice/backend.h"

namespace sluice::backend {

/// `<name>` of `libsluice_backend_<name>.so`; nullopt for any other file name.
std::optional<std::string> plugin_name(const std::filesystem::path& path);

/// A plug-in's string, read up to `limit` characters; nullopt if it is null, empty or longer.
std::optional<std::string> bounded_text(const char* text, std::size_t limit);

/// Whether the table is long enough for `function`, and has it. For those that came after 1.0.
template <typename Function>
bool has_field(const sluice_backend_api& api, Function sluice_backend_api::*function) {
  const auto* begin = reinterpret_cast<const char*>(&api);
  const auto* end = reinterpret_cast<const char*>(&(api.*function)) + sizeof(Function);
  return api.struct_size >= static_cast<std::uint32_t>(end - begin) && api.*function != nullptr;
}

/// Asks the entry of an opened plug-in for its table, and checks version, name and completeness.
/// Fails: kFailedPrecondition with what is wrong and what this host expects.
Result<const sluice_backend_api*> shake_hands(const DynamicLibrary& library,
                                              const std::string& name);
Result<const sluice_backend_api*> shake_hands(sluice_backend_entry_fn entry,
                                              const std::string& name);

}  // namespace sluice::backend
