#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "backend/extensions/variants.h"
#include "base/file.h"
#include "base/text/plural.h"
#include "exec/facts/row_proof.h"
#include "ir/source.h"
#include "ir/text/graph_text.h"
#include "ir/text/literal.h"
#include "package/package.h"
#include "sluice/cli/command.h"
#include "sluice/model/generic_kernels.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

nlohmann::json spec_json(const terms::TensorSpec& spec) {
  return {{"name", spec.name},
          {"type", spec.type.to_string()},
          {"batch_axis", spec.batch_axis},
          {"has_default", spec.has_default}};
}

struct OperationKind {
  std::string backend;  ///< "-": needs no kernel
  std::string kind;
  bool is_generic = false;

  auto operator<=>(const OperationKind&) const = default;
};

/// How many operations there are of each kind.
std::map<OperationKind, int> count_operations(const package::Executable& executable) {
  std::map<OperationKind, int> counts;
  const GenericKernels generic(executable);
  const auto count = [&](const ir::Subgraph& subgraph, std::size_t place, std::int16_t number) {
    const ir::Operation& operation = subgraph.operation(subgraph.order()[place]);
    std::string backend = number < 0 ? "-" : executable.backends[static_cast<std::size_t>(number)];
    std::string kind = ir::kind_text(executable.graph, operation);
    const bool is_generic = generic.run(subgraph, operation, number);
    ++counts[{std::move(backend), std::move(kind), is_generic}];
  };
  for (std::size_t s = 0; s < executable.backend_of.size(); ++s) {
    const auto& backend_of = executable.backend_of[s];
    for (std::size_t place = 0; place < backend_of.size(); ++place) {
      count(executable.graph.subgraph(ir::SubgraphId(s)), place, backend_of[place]);
    }
  }
  return counts;
}

/// (operator, way) -> how many operations are not computed as their backend would choose.
std::map<std::pair<std::string, std::string>, int> count_ways(const ir::Graph& graph) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (const ir::OperationId id : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(id);
      const auto* way = operation.attributes.find<std::string>(backend::kVariantAttribute);
      if (way != nullptr) ++counts[{operation.kind, *way}];
    }
  }
  return counts;
}

std::int64_t constant_bytes(const ir::Graph& graph) {
  std::int64_t total = 0;
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
      if (constant != nullptr) total += static_cast<std::int64_t>(constant->data.size());
    }
  }
  return total;
}

/// The start of a fact, with escapes instead of control characters: a file's author wrote it.
std::string one_line(std::string_view fact) {
  constexpr std::size_t kMaxShownBytes = 120;
  std::string text = ir::quote(fact.substr(0, kMaxShownBytes));
  text = text.substr(1, text.size() - 2);
  return fact.size() <= kMaxShownBytes ? text : fmt::format("{}... ({} bytes)", text, fact.size());
}

void print_sources(const ir::Graph& graph) {
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (const ir::OperationId id : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(id);
      const std::string* source = ir::find_source(graph, operation.name);
      fmt::print("{:<40} {}\n", operation.describe(), source == nullptr ? "-" : *source);
    }
  }
}

/// Targets of compiled kernels.
std::set<std::string> targets_of(const package::Executable& executable) {
  std::set<std::string> targets;
  for (const package::OperationCode& entry : executable.code) {
    for (const auto& image : entry.code.images) targets.insert(image.target);
  }
  return targets;
}

/// Whether waiting requests may be joined (--batch-rows), or what mixes their rows.
std::string rows_text(const package::Executable& executable) {
  const Status proof = exec::prove_rows(executable);
  return proof.is_ok() ? "independent" : fmt::format("not proved independent: {}", proof.message());
}

class InspectCommand : public Command {
 public:
  const char* name() const override { return "inspect"; }

  void add_options(Options& options) override {
    options_.add_to(options);
    options.flag("--json", is_json_, "Print one JSON object");
    options.flag("--sources", lists_sources_,
                 "Print where each operation comes from in the source");
    options.flag("--text", is_text_, "Print the graph in its text form");
  }

  Result<int> run() override {
    const auto executable = SLUICE_TRY(open_model(options_));
    if (lists_sources_) {
      print_sources(executable.graph);
    } else if (is_text_) {
      // Short constants are printed, long ones are numbered.
      std::size_t count = 0;
      const auto number = [&](const ir::Constant& constant) {
        constexpr std::size_t kMaxShown = 256;
        return constant.data.size() > kMaxShown ? std::optional(count++) : std::nullopt;
      };
      fmt::print("{}", ir::print(executable.graph, number));
    } else if (is_json_) {
      // Names of a file need not be UTF-8.
      fmt::print(
          "{}\n",
          describe(executable).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      print(executable);
    }
    return 0;
  }

 private:
  /// Empty for an ONNX file.
  std::vector<package::SectionInfo> sections() const {
    const auto file = map_file(options_.path);
    auto found = file.is_ok() ? package::list_sections(*file)
                              : Result<std::vector<package::SectionInfo>>(file.status());
    return found.is_ok() ? std::move(found).value() : std::vector<package::SectionInfo>();
  }

  static std::vector<package::SegmentSpec> segments(const package::Executable& executable) {
    auto found = package::segments_of(executable);  // checked when it was read
    return found.is_ok() ? std::move(found).value() : std::vector<package::SegmentSpec>();
  }

  nlohmann::json describe(const package::Executable& executable) const {
    const terms::Signature signature = package::signature_of(executable.graph);
    nlohmann::json json = {{"inputs", nlohmann::json::array()},
                           {"outputs", nlohmann::json::array()},
                           {"operations", nlohmann::json::array()},
                           {"ways", nlohmann::json::array()},
                           {"sections", nlohmann::json::array()},
                           {"segments", nlohmann::json::array()},
                           {"targets", targets_of(executable)},
                           {"facts", executable.graph.metadata},
                           {"constant_bytes", constant_bytes(executable.graph)},
                           {"arena_bytes", nullptr},
                           {"rows", rows_text(executable)}};
    for (const auto& spec : signature.inputs) json["inputs"].push_back(spec_json(spec));
    for (const auto& spec : signature.outputs) json["outputs"].push_back(spec_json(spec));
    for (const auto& [key, count] : count_operations(executable)) {
      json["operations"].push_back({{"backend", key.backend},
                                    {"operator", key.kind},
                                    {"count", count},
                                    {"generic", key.is_generic}});
    }
    for (const auto& [key, count] : count_ways(executable.graph)) {
      json["ways"].push_back({{"operator", key.first}, {"way", key.second}, {"count", count}});
    }
    for (const package::SectionInfo& section : sections()) {
      json["sections"].push_back({{"name", section.name},
                                  {"offset_bytes", section.offset_bytes},
                                  {"size_bytes", section.size_bytes}});
    }
    for (const package::SegmentSpec& segment : segments(executable)) {
      json["segments"].push_back({{"name", segment.name},
                                  {"first_operation", segment.first_operation},
                                  {"cores", segment.cores}});
    }
    if (executable.plan) json["arena_bytes"] = executable.plan->arena_bytes;
    return json;
  }

  void print(const package::Executable& executable) const {
    const terms::Signature signature = package::signature_of(executable.graph);
    for (const auto& spec : signature.inputs) {
      fmt::print("input   {} : {}{}\n", spec.name, spec.type.to_string(),
                 spec.has_default ? " (has a default)" : "");
    }
    for (const auto& spec : signature.outputs) {
      fmt::print("output  {} : {}\n", spec.name, spec.type.to_string());
    }
    fmt::print("rows    {}\n", rows_text(executable));
    fmt::print("\n{:>5}  {:<12} operator\n", "count", "backend");
    for (const auto& [key, count] : count_operations(executable)) {
      fmt::print("{:>5}  {:<12} {}{}\n", count, key.backend, key.kind,
                 key.is_generic ? " (generic)" : "");
    }
    const auto ways = count_ways(executable.graph);
    if (!ways.empty()) fmt::print("\n{:>5}  {:<12} tuned to\n", "count", "operator");
    for (const auto& [key, count] : ways) {
      fmt::print("{:>5}  {:<12} {}\n", count, key.first, key.second);
    }
    fmt::print("\n{:>5}  {:>12}  segment\n", "cores", "first");
    for (const package::SegmentSpec& segment : segments(executable)) {
      const std::string cores = segment.cores == 0 ? "all" : std::to_string(segment.cores);
      fmt::print("{:>5}  {:>12}  {}\n", cores, segment.first_operation, segment.name);
    }
    fmt::print("\nconstants  {:.2f} MB\n", megabytes(constant_bytes(executable.graph)));
    if (executable.plan) {
      fmt::print("arena      {:.2f} MB in {}\n", megabytes(executable.plan->arena_bytes),
                 counted(executable.plan->offset_bytes.size(), "piece"));
    } else {
      fmt::print("arena      planned per shape: some dimensions are only known at run time\n");
    }
    if (const std::set<std::string> targets = targets_of(executable); !targets.empty()) {
      fmt::print("kernels    {} for {}\n", executable.code.size(), fmt::join(targets, ", "));
    }
    const auto parts = sections();
    if (!parts.empty()) fmt::print("\n{:<10} {:>12} {:>12}\n", "section", "offset", "bytes");
    for (const package::SectionInfo& section : parts) {
      fmt::print("{:<10} {:>12} {:>12}\n", section.name, section.offset_bytes, section.size_bytes);
    }
    if (!executable.graph.metadata.empty()) fmt::print("\n");
    std::size_t num_sources = 0;
    for (const auto& [fact, value] : executable.graph.metadata) {
      const bool is_source = fact.starts_with("source.");
      num_sources += is_source ? 1 : 0;
      if (!is_source) fmt::print("{:<16} {}\n", fact, one_line(value));
    }
    if (num_sources > 0) {
      fmt::print("{:<16} of {}: --sources\n", "sources", counted(num_sources, "operation"));
    }
  }

  ModelOptions options_;
  bool is_json_ = false;
  bool is_text_ = false;
  bool lists_sources_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace sluice::tool
