#include "api/functions/describe.h"

#include <utility>

#include "api/fields.h"

namespace sluice::api {
namespace {

// The numbers of the C interface are those of the enumerations.
static_assert(static_cast<int>(terms::ModelPhase::kLoaded) == SLUICE_MODEL_LOADED);
static_assert(static_cast<int>(terms::ModelPhase::kStarted) == SLUICE_MODEL_STARTED);
static_assert(static_cast<int>(terms::ModelPhase::kStopped) == SLUICE_MODEL_STOPPED);
static_assert(static_cast<int>(terms::ModelPhase::kFailed) == SLUICE_MODEL_FAILED);
static_assert(static_cast<int>(terms::ModelPhase::kUnloaded) == SLUICE_MODEL_UNLOADED);
static_assert(static_cast<int>(terms::LoadMode::kNormal) == SLUICE_LOAD_NORMAL);
static_assert(static_cast<int>(terms::LoadMode::kShared) == SLUICE_LOAD_SHARED);

/// Requires: `items` does not move any more.
template <typename List>
void point_to_items(List& list) {
  for (const auto& item : list.items) list.pointers.push_back(&item);
  list.public_part = {list.pointers.size(), list.pointers.data()};
}

sluice_device item_of(const terms::Device& device) {
  sluice_device item = {};
  item.id = device.id.value();
  copy_fields(device, item);
  item.backend = device.backend.c_str();
  return item;
}

sluice_group_info item_of(const terms::GroupInfo& info, const std::vector<sluice_core>& cores) {
  sluice_group_info item = {};
  item.group = static_cast<std::uint64_t>(info.id.value());
  item.is_implicit = info.origin == terms::GroupOrigin::kImplicit ? 1 : 0;
  copy_fields(info, item);
  item.num_cores = cores.size();
  item.cores = cores.data();
  return item;
}

std::vector<const sluice_tensor_spec*> pointers_to(
    const std::vector<std::unique_ptr<SpecStorage>>& specs) {
  std::vector<const sluice_tensor_spec*> pointers;
  for (const auto& spec : specs) pointers.push_back(&spec->spec);
  return pointers;
}

}  // namespace

std::shared_ptr<DeviceList> describe(std::vector<terms::Device> devices) {
  auto list = std::make_shared<DeviceList>();
  list->devices = std::move(devices);
  // The items describe the list's own devices, because they point to their texts.
  for (const terms::Device& device : list->devices) list->items.push_back(item_of(device));
  point_to_items(*list);
  return list;
}

std::shared_ptr<GroupList> describe(std::vector<terms::GroupInfo> groups) {
  auto list = std::make_shared<GroupList>();
  list->groups = std::move(groups);
  for (const terms::GroupInfo& info : list->groups) {
    std::vector<sluice_core>& cores = list->cores.emplace_back();
    for (const terms::CoreRef core : info.cores) cores.push_back({core.device.value(), core.core});
  }
  for (std::size_t i = 0; i < list->groups.size(); ++i) {
    list->items.push_back(item_of(list->groups[i], list->cores[i]));
  }
  point_to_items(*list);
  return list;
}

sluice_footprint describe(const terms::Footprint& footprint) {
  sluice_footprint copy = {};
  copy_fields(footprint, copy);
  copy.total_bytes = footprint.total_bytes();
  return copy;
}

std::shared_ptr<LoadedModelCopy> describe(const ModelDescription& model) {
  auto copy = std::make_shared<LoadedModelCopy>();
  const terms::ModelInfo& info = model.info;
  copy->name = info.name;
  copy->inputs = store_specs(model.signature.inputs);
  copy->outputs = store_specs(model.signature.outputs);
  copy->input_pointers = pointers_to(copy->inputs);
  copy->output_pointers = pointers_to(copy->outputs);
  sluice_loaded_model& item = copy->public_part;
  item.model = info.handle;
  item.name = copy->name.c_str();
  item.phase = static_cast<std::int32_t>(info.phase);
  item.mode = static_cast<std::int32_t>(info.mode);
  item.group = info.group.is_valid() ? static_cast<std::uint64_t>(info.group.value()) : 0;
  copy_fields(info, item);
  item.is_on_demand = model.is_on_demand ? 1 : 0;
  item.num_inputs = copy->inputs.size();
  item.num_outputs = copy->outputs.size();
  item.inputs = copy->input_pointers.data();
  item.outputs = copy->output_pointers.data();
  item.footprint = describe(info.footprint);
  item.has_fixed_inputs = model.signature.has_fixed_inputs ? 1 : 0;
  return copy;
}

std::shared_ptr<LoadedModelList> describe(const std::vector<ModelDescription>& models) {
  auto list = std::make_shared<LoadedModelList>();
  for (const ModelDescription& model : models) {
    list->models.push_back(describe(model));
    list->pointers.push_back(&list->models.back()->public_part);
  }
  list->public_part = {list->pointers.size(), list->pointers.data()};
  return list;
}

}  // namespace sluice::api
