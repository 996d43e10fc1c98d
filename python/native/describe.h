// Descriptions of a runtime as dictionaries, whose keys are the fields of the named tuples in
// sluice/descriptions.py.
#pragma once

#include <nanobind/nanobind.h>
#include <sluice/runtime.h>
#include <sluice/statistics.h>

namespace sluice::python {

nanobind::dict describe(const sluice_device& device);
nanobind::dict describe(const sluice_group_info& group);
nanobind::dict describe(const sluice_footprint& footprint);
nanobind::dict describe(const sluice_loaded_model& model);
nanobind::dict describe(const sluice_model_statistics& statistics);
nanobind::dict describe(const sluice_health& health);
nanobind::dict describe(const sluice_span& span);
nanobind::dict describe(const sluice_profile& profile);

/// A list of the descriptions of the items of a list of the C interface.
template <typename List>
nanobind::list describe_all(const List& list) {
  nanobind::list described;
  for (std::size_t i = 0; i < list.count; ++i) described.append(describe(*list.items[i]));
  return described;
}

}  // namespace sluice::python
