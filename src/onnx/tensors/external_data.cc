#include "onnx/tensors/external_data.h"

#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "base/text/number.h"

namespace sluice::onnx {
namespace {

namespace fs = std::filesystem;

struct FilePart {
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

Result<std::int64_t> parse_size(const pb::StringStringEntryProto& entry) {
  const auto value = to_number<std::int64_t>(entry.value());
  if (!value || *value < 0) return invalid_argument("external data has no valid {}", entry.key());
  return *value;
}

Result<FilePart> read_part(const pb::TensorProto& tensor) {
  FilePart part;
  for (const pb::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") part.location = entry.value();
    if (entry.key() == "offset") part.offset = SLUICE_TRY(parse_size(entry));
    if (entry.key() == "length") part.length = SLUICE_TRY(parse_size(entry));
  }
  return part;
}

Status check_location(const std::string& location) {
  const fs::path path(location);
  bool is_inside =
      !location.empty() && !path.has_root_path() && location.find('\0') == std::string::npos;
  // Only a message here: Folder::map itself opens beneath the folder and follows no way out.
  for (const fs::path& part : path) is_inside = is_inside && part != "..";
  if (is_inside) return ok_status();
  return invalid_argument(
      "external data at \"{}\" is not inside the model's folder; move the file there and name it "
      "by a relative path",
      location);
}

}  // namespace

Result<Bytes> ExternalData::find(const std::string& location) const {
  Status missing;
  for (const Folder& folder : folders_) {
    auto mapped = folder.map(location);
    if (mapped.is_ok() || mapped.status().code() != Code::kNotFound) {
      // A link out of the folder is refused like "..": caches of models link to files of a store,
      // which is the last folder.
      const bool is_link = mapped.status().code() == Code::kInvalidArgument;
      if (!is_link || folders_.size() == 1) return mapped;
      auto linked = folder.map_link(location, folders_.back());
      return linked.is_ok() ? linked : mapped;
    }
    missing = mapped.status();
  }
  return missing;
}

Result<Bytes> ExternalData::map(const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  SLUICE_TRY(check_location(location));
  if (folders_.empty()) {
    return invalid_argument("external data \"{}\" has no folder to be read from", location);
  }
  auto mapped = find(location);
  if (mapped.status().code() == Code::kNotFound) {
    std::string names;
    for (const Folder& folder : folders_) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : " or ", folder.path().string());
    }
    return make_error(Code::kNotFound, "external data \"{}\" cannot be opened in {}", location,
                      names);
  }
  Bytes bytes = SLUICE_TRY(
      std::move(mapped).with_context("external data must be a regular file in the model's folder"));
  files_.emplace(location, bytes);
  return bytes;
}

Result<Bytes> ExternalData::read(const pb::TensorProto& tensor, std::int64_t size_bytes,
                                 std::int64_t element_bytes) {
  const FilePart part = SLUICE_TRY(read_part(tensor));
  if (part.length && *part.length != size_bytes) {
    return invalid_argument("external data has {} bytes; type and shape need {}", *part.length,
                            size_bytes);
  }
  const Bytes file = SLUICE_TRY(map(part.location));
  const auto end = checked_add(part.offset, size_bytes);
  if (!end || *end > static_cast<std::int64_t>(file.size())) {
    return invalid_argument("external data [{}, +{}) passes the end of \"{}\", which has {} bytes",
                            part.offset, size_bytes, part.location, file.size());
  }
  const Bytes slice =
      file.slice(static_cast<std::size_t>(part.offset), static_cast<std::size_t>(size_bytes));
  // Kernels read elements where they lie, which takes an address that is aligned for them.
  if (part.offset % element_bytes == 0) return slice;
  return Bytes::own({slice.view().begin(), slice.view().end()});
}

}  // namespace sluice::onnx
