// All faults of a file in one message: unsupported operators, attributes that do not exist, and
// other faults of single nodes.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"

namespace sluice::onnx {

class Findings {
 public:
  /// `opset` is the version of the domain that the model imports.
  void add_operator(const std::string& domain, const std::string& kind, int opset,
                    std::string node_name);

  /// A fault of one node, with the node's name.
  void add(Status fault);

  bool is_empty() const { return operators_.empty() && num_faults_ == 0; }
  /// Whether there are as many faults as a message lists.
  bool is_full() const;

  /// Ok if there is nothing; one fault as it is; else all of them in one message, kUnimplemented if
  /// operators are among them.
  Status status() const;

 private:
  struct Uses {
    std::size_t count = 0;
    std::vector<std::string> some_names;
  };
  std::string describe_operators() const;

  std::map<std::tuple<std::string, std::string, int>, Uses> operators_;
  std::vector<Status> faults_;
  std::size_t num_faults_ = 0;
};

}  // namespace sluice::onnx
