#include "terms/load.h"

#include "terms/runtime_code.h"

namespace sluice::terms {

Status check(const LoadOptions& options) {
  Status status;
  LoadOptions::visit_fields([&](const Field& field, auto of) {
    const auto number = number_of(of(options));
    if (!status.is_ok() || !number) return;
    if (*number >= field.least && *number <= field.most) return;
    // Where a client leaves a number away, 0 stands for the default.
    status =
        field.most == kAnyNumber
            ? runtime_error(RuntimeCode::kInvalid, "{} is {}; it is 0 or more", field.name, *number)
            : runtime_error(RuntimeCode::kInvalid, "a {} of {} is not between 0 and {}", field.name,
                            *number, field.most);
  });
  return status;
}

}  // namespace sluice::terms
