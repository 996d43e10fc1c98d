#include "onnx/proto/sort.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx/proto/names.h"

namespace sluice::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;
using Names = std::vector<std::string_view>;

/// Appends the names that `graph` reads and does not define itself.
void collect_captures(const pb::GraphProto& graph, Names& captures);

/// Appends what a node and the graphs inside it read.
void collect_reads(const pb::NodeProto& node, Names& reads) {
  reads.insert(reads.end(), node.input().begin(), node.input().end());
  for (const pb::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_captures(attribute.g(), reads);
    for (const pb::GraphProto& graph : attribute.graphs()) collect_captures(graph, reads);
  }
}

void collect_captures(const pb::GraphProto& graph, Names& captures) {
  std::unordered_set<std::string_view> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  Names reads;
  for (const pb::NodeProto& node : graph.node()) {
    collect_reads(node, reads);
    defined.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) reads.push_back(output.name());
  for (const std::string_view name : reads) {
    if (!defined.contains(name)) captures.push_back(name);
  }
}

/// Depth first from each node in file order, so that a producer comes before its readers.
class Sorter {
 public:
  explicit Sorter(Nodes& nodes) : nodes_(nodes), marks_(static_cast<std::size_t>(nodes.size())) {}

  Result<std::vector<pb::NodeProto*>> run() {
    for (int i = 0; i < nodes_.size(); ++i) {
      for (const std::string& output : nodes_[i].output()) {
        if (output.empty() || producers_.emplace(output, i).second) continue;
        return invalid_argument("\"{}\" is an output of {} and of {}; values need distinct names",
                                output, describe(nodes_[producers_[output]]), describe(nodes_[i]));
      }
    }
    for (int i = 0; i < nodes_.size(); ++i) SLUICE_TRY(visit(i));
    return std::move(sorted_);
  }

 private:
  enum class Mark : char { kNew, kOpen, kDone };
  struct Frame {
    int node;
    // Kept, since it holds what the graphs inside the node read too, which takes a walk to find.
    Names reads;
    std::size_t next;
  };

  Mark& mark(int node) { return marks_[static_cast<std::size_t>(node)]; }

  void open(int node) {
    mark(node) = Mark::kOpen;
    Names reads;
    collect_reads(nodes_[node], reads);
    stack_.push_back({node, std::move(reads), 0});
  }

  Status visit(int start) {
    if (mark(start) == Mark::kDone) return ok_status();
    open(start);
    // At the top of each turn the stack is a path in which each node reads from the one above it.
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.reads.size()) {
        mark(top.node) = Mark::kDone;
        sorted_.push_back(&nodes_[top.node]);
        stack_.pop_back();
        continue;
      }
      const auto producer = producers_.find(top.reads[top.next++]);
      if (producer == producers_.end() || mark(producer->second) == Mark::kDone) continue;
      if (mark(producer->second) == Mark::kOpen) return cycle_error(producer->second);
      open(producer->second);
    }
    return ok_status();
  }

  Status cycle_error(int node) const {
    constexpr std::size_t kMaxNamed = 8;
    const auto first = std::find_if(stack_.begin(), stack_.end(),
                                    [&](const Frame& frame) { return frame.node == node; });
    std::string names;
    const auto length = static_cast<std::size_t>(stack_.end() - first);
    for (std::size_t i = 0; i < std::min(length, kMaxNamed); ++i) {
      names +=
          (i > 0 ? ", " : "") + describe(nodes_[(first + static_cast<std::ptrdiff_t>(i))->node]);
    }
    if (length > kMaxNamed) names += fmt::format(" and {} more", length - kMaxNamed);
    return invalid_argument("the graph has a cycle through {}; a model must have none", names);
  }

  Nodes& nodes_;
  std::vector<Mark> marks_;
  std::unordered_map<std::string_view, int> producers_;
  std::vector<Frame> stack_;
  std::vector<pb::NodeProto*> sorted_;
};

}  // namespace

Result<std::vector<pb::NodeProto*>> sort_nodes(Nodes& nodes) { return Sorter(nodes).run(); }

}  // namespace sluice::onnx
