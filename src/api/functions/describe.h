// Descriptions of the C interface and the memory they point to: each is made by `describe`, which
// fills `public_part`, for snapshots.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/runtime/runtime.h"
#include "api/tensors.h"
#include "sluice/runtime.h"

namespace sluice::api {

struct DeviceList {
  std::vector<terms::Device> devices;
  std::vector<sluice_device> items;
  std::vector<const sluice_device*> pointers;
  sluice_device_list public_part = {};
};
std::shared_ptr<DeviceList> describe(std::vector<terms::Device> devices);

struct GroupList {
  std::vector<terms::GroupInfo> groups;
  std::vector<std::vector<sluice_core>> cores;
  std::vector<sluice_group_info> items;
  std::vector<const sluice_group_info*> pointers;
  sluice_group_list public_part = {};
};
std::shared_ptr<GroupList> describe(std::vector<terms::GroupInfo> groups);

struct FootprintCopy {
  sluice_footprint public_part = {};
};
sluice_footprint describe(const terms::Footprint& footprint);

struct LoadedModelCopy {
  std::string name;
  std::vector<std::unique_ptr<SpecStorage>> inputs;
  std::vector<std::unique_ptr<SpecStorage>> outputs;
  std::vector<const sluice_tensor_spec*> input_pointers;
  std::vector<const sluice_tensor_spec*> output_pointers;
  sluice_loaded_model public_part = {};
};
std::shared_ptr<LoadedModelCopy> describe(const ModelDescription& model);

struct LoadedModelList {
  std::vector<std::shared_ptr<LoadedModelCopy>> models;
  std::vector<const sluice_loaded_model*> pointers;
  sluice_loaded_model_list public_part = {};
};
std::shared_ptr<LoadedModelList> describe(const std::vector<ModelDescription>& models);

}  // namespace sluice::api
