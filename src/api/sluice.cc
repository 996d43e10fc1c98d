// The functions of sluice/sluice.h that take a model.
#include "sluice/sluice.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/last_error.h"
#include "api/model.h"
#include "base/file.h"
#include "base/text/version.h"
#include "package/package.h"

namespace sluice::api {
namespace {

using Specs = std::vector<std::unique_ptr<SpecStorage>>;

const sluice_tensor_spec* spec_at(const Specs& specs, std::size_t index) {
  return index < specs.size() ? &specs[index]->spec : nullptr;
}

Status open(const Bytes& file, std::string_view source, const sluice_open_options* options,
            sluice_model*& model) {
  auto opened = SLUICE_TRY(open_model(file, source, options));
  model = new sluice_model{std::move(opened)};
  return ok_status();
}

Result<Bytes> bytes_of(const void* data, std::size_t size, std::int32_t ownership) {
  if (data == nullptr) return null_argument("bytes");
  const std::span view(static_cast<const std::byte*>(data), size);
  if (ownership == SLUICE_BYTES_COPY) return MutableBytes::copy_of(view).freeze();
  if (ownership != SLUICE_BYTES_BORROW) {
    return invalid_argument("ownership {} is neither COPY nor BORROW", ownership);
  }
  // Constants are read where they lie, at offsets that are aligned within the package.
  if (reinterpret_cast<std::uintptr_t>(data) % package::kDataAlignment != 0) {
    return invalid_argument("borrowed bytes must be aligned to {} bytes; copy them instead",
                            package::kDataAlignment);
  }
  // No owner: the caller keeps borrowed bytes until it closes the model.
  return Bytes(nullptr, view);
}

const std::map<std::string, std::string>& metadata_of(const sluice_model& model) {
  return model.open->loaded.executable().graph.metadata;
}

}  // namespace
}  // namespace sluice::api

using sluice::api::guard;
using sluice::api::null_argument;

const char* sluice_version(void) { return sluice::kSluiceVersion; }

const char* sluice_last_error(void) { return sluice::api::last_error(); }

int32_t sluice_model_open(const char* path, const sluice_open_options* options,
                          sluice_model** model) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr) return null_argument("model");
    // First, so that a caller that ignores the code sees null and no wild pointer.
    *model = nullptr;
    if (path == nullptr) return null_argument("path");
    return sluice::api::open(SLUICE_TRY(sluice::map_file(path)), path, options, *model);
  });
}

int32_t sluice_model_open_bytes(const void* bytes, size_t size_bytes, int32_t ownership,
                                const sluice_open_options* options, sluice_model** model) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr) return null_argument("model");
    *model = nullptr;
    return sluice::api::open(SLUICE_TRY(sluice::api::bytes_of(bytes, size_bytes, ownership)),
                             "package in memory", options, *model);
  });
}

int32_t sluice_model_open_fd(int fd, const sluice_open_options* options, sluice_model** model) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr) return null_argument("model");
    *model = nullptr;
    const std::string source = fmt::format("file descriptor {}", fd);
    auto file = sluice::map_file(fmt::format("/proc/self/fd/{}", fd));
    return sluice::api::open(SLUICE_TRY(std::move(file).with_context(source)), source, options,
                             *model);
  });
}

void sluice_model_close(sluice_model* model) { delete model; }

size_t sluice_model_num_inputs(const sluice_model* model) {
  return model == nullptr ? 0 : model->open->inputs.size();
}

size_t sluice_model_num_outputs(const sluice_model* model) {
  return model == nullptr ? 0 : model->open->outputs.size();
}

const sluice_tensor_spec* sluice_model_input(const sluice_model* model, size_t index) {
  return model == nullptr ? nullptr : sluice::api::spec_at(model->open->inputs, index);
}

const sluice_tensor_spec* sluice_model_output(const sluice_model* model, size_t index) {
  return model == nullptr ? nullptr : sluice::api::spec_at(model->open->outputs, index);
}

int32_t sluice_model_set_seed(sluice_model* model, uint64_t seed) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr) return null_argument("model");
    model->open->loaded.set_seed(seed);
    return sluice::ok_status();
  });
}

size_t sluice_model_num_metadata(const sluice_model* model) {
  return model == nullptr ? 0 : sluice::api::metadata_of(*model).size();
}

int32_t sluice_model_metadata_at(const sluice_model* model, size_t index, const char** key,
                                 const char** value) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr || key == nullptr || value == nullptr) {
      return null_argument("model, key or value");
    }
    const auto& metadata = sluice::api::metadata_of(*model);
    if (index >= metadata.size()) {
      return sluice::invalid_argument("metadata {} does not exist; the model has {}", index,
                                      metadata.size());
    }
    // A model has few facts; a walk costs less than an index beside the map.
    const auto entry = std::next(metadata.begin(), static_cast<std::ptrdiff_t>(index));
    *key = entry->first.c_str();
    *value = entry->second.c_str();
    return sluice::ok_status();
  });
}

const char* sluice_model_metadata(const sluice_model* model, const char* key) {
  if (model == nullptr || key == nullptr) return nullptr;
  const auto& metadata = sluice::api::metadata_of(*model);
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : found->second.c_str();
}
