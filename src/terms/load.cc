#include "terms/load.h"

#include "terms/runtime_code.h"

namespace sluice::terms {

Status check(const LoadOptions& options) {
  Status status;
  LoadOptions::visit_fields([&](const Field& field, auto of) {
    const auto number = number_of(of(options));
    if (!status.is_ok() || !number) return;
    if (*number >= field.least && *number <= field.most) return;
    // Where a client may leave a number out, 0 stands for the default. Here it may not.
    const std::int64_t least = *number == 0 ? field.least : 0;
    status =
        field.most == kAnyNumber
            ? runtime_error(RuntimeCode::kInvalid, "{} is {}; it is 0 or more", field.name, *number)
            : runtime_error(RuntimeCode::kInvalid, "a {} of {} is not between {} and {}",
                            field.name, *number, least, field.most);
  });
  return status;
}

}  // namespace sluice::terms
