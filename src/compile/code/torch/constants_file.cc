#include "compile/code/torch/constants_file.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "base/file.h"

namespace sluice::compile {
namespace {

using ir::ElementType;

/// Names of the format (https://huggingface.co/docs/safetensors): a header of JSON behind its
/// length, then the tensors without gaps.
constexpr std::pair<ElementType, const char*> kTypeNames[] = {
    {ElementType::kBf16, "BF16"}, {ElementType::kBool, "BOOL"},
    {ElementType::kF16, "F16"},   {ElementType::kF32, "F32"},
    {ElementType::kF64, "F64"},   {ElementType::kF8E4M3Fn, "F8_E4M3"},
    {ElementType::kI16, "I16"},   {ElementType::kF8E5M2, "F8_E5M2"},
    {ElementType::kI32, "I32"},   {ElementType::kI64, "I64"},
    {ElementType::kI8, "I8"},     {ElementType::kU16, "U16"},
    {ElementType::kU32, "U32"},   {ElementType::kU64, "U64"},
    {ElementType::kU8, "U8"},
};
constexpr std::size_t kLengthBytes = 8;

/// {"dtype": "F32", "shape": [2, 3]}
nlohmann::ordered_json type_of(const ir::Constant& constant) {
  for (const auto& [element, name] : kTypeNames) {
    if (element != constant.type.element()) continue;
    return {{"dtype", name},
            {"shape", constant.type.static_dims().value_or(std::vector<std::int64_t>{})}};
  }
  return {{"dtype", "U8"}, {"shape", {constant.data.size()}}};
}

/// The header, padded with spaces to a multiple of 8 bytes, behind its length.
std::string header_text(const nlohmann::ordered_json& header) {
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t length = text.size();
  std::string start(kLengthBytes, '\0');
  std::memcpy(start.data(), &length, kLengthBytes);
  return start + text;
}

}  // namespace

Result<ConstantsFile> write_constants(const std::filesystem::path& path,
                                      const package::Executable& executable,
                                      const LaunchPlan& plan) {
  const ir::Subgraph& main = executable.graph.main();
  ConstantsFile written;
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::set<std::string> names = {"", "__metadata__"};
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    const ir::Constant& constant = *main.find_constant(plan.constants[i]);
    std::string name = main.operand(plan.constants[i]).name;
    while (!names.insert(name).second) name += "." + std::to_string(i);
    const auto bytes = static_cast<std::int64_t>(constant.data.size());
    header[name] = type_of(constant);
    header[name]["data_offsets"] = {begin, begin + bytes};
    written.entries.push_back({name, bytes, begin, written.memory_bytes});
    begin += bytes;
    written.memory_bytes += (bytes + kLaunchAlignment - 1) / kLaunchAlignment * kLaunchAlignment;
  }
  const std::string start = header_text(header);
  auto file = SLUICE_TRY(AtomicFile::create(path));
  SLUICE_TRY(file.append(std::as_bytes(std::span(start))));
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    written.entries[i].file_offset += static_cast<std::int64_t>(start.size());
    const ir::Constant& constant = *main.find_constant(plan.constants[i]);
    SLUICE_TRY(executable.verify(constant.data, "constant \"" + written.entries[i].name + "\""));
    SLUICE_TRY(file.append(constant.data.view()));
  }
  SLUICE_TRY(file.commit());
  return written;
}

}  // namespace sluice::compile
