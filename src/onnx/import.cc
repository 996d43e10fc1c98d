#include "onnx/import.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "ir/fixed_inputs.h"
#include "onnx/functions.h"
#include "onnx/graph_builder.h"
#include "onnx/maps.h"
#include "onnx/overridable.h"
#include "onnx/proto/names.h"
#include "onnx/proto/proto.h"
#include "onnx/proto/split_model.h"
#include "onnx/tensors/model_file.h"
#include "ops/inference.h"
#include "ops/lowering/lower_operations.h"

namespace sluice::onnx {
namespace {

constexpr int kNewestOpset = 28;
/// The graph's text holds the metadata, and readers keep that text in memory.
constexpr std::size_t kMaxMetadataBytes = std::size_t{64} << 20;

/// A model whose large weights stand beside it.
struct ParsedModel {
  pb::ModelProto proto;
  std::vector<Bytes> raw;  ///< as SplitModel says
};

/// Raw data at hand: a slice of `file` if that is mapped for good, or a copy.
Bytes raw_data(std::span<const std::byte> bytes, const Bytes* file) {
  if (bytes.empty()) return Bytes();
  if (file == nullptr) return MutableBytes::copy_of(bytes).freeze();
  return file->slice(static_cast<std::size_t>(bytes.data() - file->data()), bytes.size());
}

/// What a file is that ONNX's parser does not read.
std::string_view foreign_format(std::span<const std::byte> bytes) {
  struct Format {
    std::size_t at;
    std::string_view mark;
    std::string_view advice;
  };
  static constexpr std::array<Format, 10> kFormats = {{
      {0, "SLUICE\r\n", "is a package, which is compiled already"},
      {4, "ORTM", "is in onnxruntime's ORT format; load its ONNX file"},
      {4, "TFL3", "is a TensorFlow Lite model; convert it with tf2onnx"},
      {0, "GGUF", "is a GGUF file, which is read from a file only"},
      {0, "PK\x03\x04", "is a zip archive, as PyTorch and Keras write; export the model to ONNX"},
      {0, "\x89HDF", "is an HDF5 file, as Keras writes; convert the model with tf2onnx"},
      {0, "\x80\x02", "is a pickle of Python; export the model to ONNX"},
      {0, "\x1f\x8b", "is compressed by gzip; unpack it"},
      {0, "version https://git-lfs", "is a pointer of Git LFS, which `git lfs pull` replaces"},
      {0, "<", "is XML or a page of the web, no ONNX model"},
  }};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    if (text.size() > format.at && text.substr(format.at).starts_with(format.mark)) {
      return format.advice;
    }
  }
  return "is not an ONNX model, or is truncated or damaged";
}

/// `file`: `bytes`, to be kept; null: they are borrowed.
Status parse(std::span<const std::byte> bytes, const Bytes* file, ParsedModel& parsed) {
  constexpr auto kMaxBytes = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.size() > kMaxBytes) {
    return invalid_argument(
        "is larger than 2 GiB, which protobuf cannot read; save its weights as external data");
  }
  const std::optional<SplitModel> split = split_model(bytes);
  const auto message = split ? std::as_bytes(std::span(split->message)) : bytes;
  if (!parsed.proto.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return invalid_argument("{}", foreign_format(bytes));
  }
  if (split) {
    for (const auto& raw : split->raw) parsed.raw.push_back(raw_data(raw, file));
  }
  if (!parsed.proto.has_graph()) return invalid_argument("has no graph; is it an ONNX model?");
  return ok_status();
}

Result<Opsets> model_opsets(const pb::ModelProto& model) {
  constexpr int kFirstIrWithOpsets = 3;
  Opsets opsets = SLUICE_TRY(read_opsets(model.opset_import()));
  if (opsets.empty() && model.ir_version() < kFirstIrWithOpsets) opsets.emplace("", 1);
  const auto standard = opsets.find("");
  if (standard != opsets.end() && standard->second > kNewestOpset) {
    return unimplemented("imports opset {}; the newest supported is {}: export the model with that",
                         standard->second, kNewestOpset);
  }
  return opsets;
}

/// The symbol that leads the first input with dimensions, if it is one.
std::string batch_symbol(const ir::Subgraph& main) {
  for (const ir::OperandId id : main.inputs) {
    const ir::Type& type = main.operand(id).type;
    if (!type.is_tensor() || type.shape() == nullptr || type.shape()->empty()) continue;
    const ir::Dim& leading = type.shape()->front();
    return leading.is_known() ? "" : leading.to_string();
  }
  return "";
}

void describe_source(const pb::ModelProto& model, const Opsets& opsets, ir::Graph& graph) {
  const auto set = [&](const std::string& key, const std::string& value) {
    if (!value.empty() && check_name(value).is_ok()) graph.metadata.insert_or_assign(key, value);
  };
  const std::string& version = model.producer_version();
  set("producer", model.producer_name() + (version.empty() ? "" : " " + version));
  set("ir_version", std::to_string(model.ir_version()));
  for (const auto& [domain, number] : opsets) {
    set(domain.empty() ? "onnx_opset" : "opset." + domain, std::to_string(number));
  }
  set("batch_symbol", batch_symbol(graph.main()));
  graph.main().name = check_name(model.graph().name()).is_ok() ? model.graph().name() : "";
}

/// What the model's author wrote: keys and values are any UTF-8, quoted in the graph's text.
Status keep_authors_metadata(const pb::ModelProto& model, ir::Graph& graph) {
  std::size_t size_bytes = 0;
  const auto keep = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    size_bytes += key.size() + value.size();
    if (size_bytes <= kMaxMetadataBytes) graph.metadata.insert_or_assign(key, value);
  };
  keep("doc", model.doc_string());
  keep("domain", model.domain());
  if (model.model_version() != 0) keep("model_version", std::to_string(model.model_version()));
  for (const pb::StringStringEntryProto& entry : model.metadata_props()) {
    keep("metadata." + entry.key(), entry.value());
  }
  if (size_bytes <= kMaxMetadataBytes) return ok_status();
  return invalid_argument(
      "has {} bytes of metadata (metadata_props and doc strings), at most {} are taken; remove "
      "some",
      size_bytes, kMaxMetadataBytes);
}

/// Inference learns every type but that of an optional or a sequence of nothing known.
Status check_outputs(const ir::Subgraph& main) {
  for (const ir::OperandId id : main.outputs) {
    const ir::Operand& output = main.operand(id);
    if (output.type.kind() != ir::Type::Kind::kUnknown) continue;
    return invalid_argument(
        "the type of output \"{}\" cannot be inferred; export the model with types", output.name);
  }
  return ok_status();
}

/// One fact, of the first few sentences: a stale file has hundreds.
void note_warnings(const std::vector<std::string>& warnings, ir::Graph& graph) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, warnings.size()); ++i) {
    text += (i == 0 ? "" : "; ") + warnings[i];
  }
  if (warnings.size() > kShown) text += fmt::format("; and {} more", warnings.size() - kShown);
  if (!text.empty()) graph.metadata.insert_or_assign("warnings", text);
}

Result<ir::Graph> import_parsed(ParsedModel& parsed, std::vector<Folder> folders,
                                const ImportOptions& options) {
  pb::ModelProto& model = parsed.proto;
  const Opsets opsets = SLUICE_TRY(model_opsets(model));
  FunctionTable functions = SLUICE_TRY(FunctionTable::create(model, opsets));
  auto overridable = SLUICE_TRY(find_overridable(model, options.overridable));
  const auto columns = describe_columns(model.graph());
  GraphBuilder builder(std::move(folders), functions, opsets);
  builder.add_raw_data(*model.mutable_graph(), parsed.raw);
  ir::Graph graph =
      SLUICE_TRY(builder.build(*model.mutable_graph(), options, std::move(overridable.names)));
  describe_source(model, opsets, graph);
  SLUICE_TRY(keep_authors_metadata(model, graph));
  graph.metadata.insert(columns.begin(), columns.end());
  if (overridable.num_fixed > 0) {
    graph.metadata.insert_or_assign(ir::kFixedInputsFact, std::to_string(overridable.num_fixed));
  }
  std::vector<std::string> warnings(builder.warnings().begin(), builder.warnings().end());
  SLUICE_TRY(ops::infer_types(graph, &warnings));
  SLUICE_TRY(ops::lower_operations(graph));
  SLUICE_TRY(ops::infer_types(graph, &warnings));
  SLUICE_TRY(check_outputs(graph.main()));
  note_warnings(warnings, graph);
  return graph;
}

}  // namespace

Result<ir::Graph> import_model_bytes(std::span<const std::byte> model,
                                     const std::filesystem::path& folder,
                                     const ImportOptions& options) {
  ParsedModel parsed;
  SLUICE_TRY(parse(model, nullptr, parsed).with_context("the model"));
  return import_parsed(parsed, folders_at(folder), options);
}

Result<ir::Graph> import_model(const std::filesystem::path& path, const ImportOptions& options) {
  const std::string context = "importing \"" + path.string() + "\"";
  ParsedModel parsed;
  ModelFile file = SLUICE_TRY(open_model_file(path));
  SLUICE_TRY(parse(file.bytes.view(), options.keep_mapped ? &file.bytes : nullptr, parsed)
                 .with_context("\"" + path.string() + "\""));
  release_pages(file.bytes.view());  // those of the message
  file.bytes = Bytes();
  return import_parsed(parsed, std::move(file.folders), options).with_context(context);
}

}  // namespace sluice::onnx
