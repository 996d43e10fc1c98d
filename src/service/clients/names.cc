#include "service/clients/names.h"

#include <algorithm>

#include "base/utf8.h"
#include "runtime/request/runtime_code.h"

namespace sluice::service {

Status check_name(std::string_view name, std::string_view what) {
  using runtime::RuntimeCode;
  if (name.size() > kMaxNameBytes) {
    return runtime_error(RuntimeCode::kInvalid,
                         "the name of a {} has {} bytes, at most {} are taken", what, name.size(),
                         kMaxNameBytes);
  }
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; };
  if (valid_utf8(name) == name && std::ranges::none_of(name, is_control)) return ok_status();
  return runtime_error(
      RuntimeCode::kInvalid,
      "the name of a {} has bytes that cannot be printed; use UTF-8 without control "
      "characters",
      what);
}

}  // namespace sluice::service
