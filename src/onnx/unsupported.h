// Every operator that the table does not know, told at once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"

namespace sluice::onnx {

class UnsupportedOperators {
 public:
  /// `opset` is the version of the domain that the model imports. `is_known`: in other versions.
  void add(const std::string& domain, const std::string& kind, int opset, bool is_known,
           std::string node_name);

  /// Ok if there are none; else kUnimplemented with operators, versions and some node names.
  Status status() const;

 private:
  struct Uses {
    std::size_t count = 0;
    bool is_known = false;
    std::vector<std::string> some_names;
  };
  std::map<std::tuple<std::string, std::string, int>, Uses> uses_;
};

}  // namespace sluice::onnx
