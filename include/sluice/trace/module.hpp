// Modules: layers with named parameters and other modules inside.
//
//   class Linear : public sluice::trace::Module {
//    public:
//     Linear(std::int64_t from, std::int64_t to)
//         : weight_(add_parameter("weight", {from, to})), bias_(add_parameter("bias", {to})) {}
//     Tensor operator()(const Tensor& x) const { return matmul(x, weight_) + bias_; }
//    private:
//     Parameter& weight_;
//     Parameter& bias_;
//   };
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/trace/tensor.hpp"

namespace sluice::trace {

/// Owns its parameters and knows the modules inside. Neither copied nor moved: its class holds
/// references. Not safe from several threads while parameters change.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  struct Named {
    std::string name;  ///< "encoder.0.weight"
    Parameter* parameter;
  };
  /// Its own and those of the modules inside, in order of their making.
  std::vector<Named> parameters() const {
    std::vector<Named> named;
    collect("", named);
    return named;
  }
  /// Null without a parameter of that name.
  Parameter* find_parameter(const std::string& name) const {
    for (const Named& named : parameters()) {
      if (named.name == name) return named.parameter;
    }
    return nullptr;
  }
  /// Gives the parameters their full names, by which error messages and packages call them.
  void name_parameters() const {
    for (const Named& named : parameters()) named.parameter->set_name(named.name);
  }

 protected:
  /// Zeros, which live as long as the module.
  Parameter& add_parameter(std::string name, std::vector<std::int64_t> dims) {
    own_.emplace_back(std::move(name), std::make_unique<Parameter>(std::move(dims)));
    return *own_.back().second;
  }
  /// A module inside, made of `arguments`; it lives as long as this one.
  template <typename Inner, typename... Arguments>
  Inner& add_module(std::string name, Arguments&&... arguments) {
    auto made = std::make_unique<Inner>(std::forward<Arguments>(arguments)...);
    Inner& inner = *made;
    inside_.emplace_back(std::move(name), std::move(made));
    return inner;
  }

 private:
  void collect(const std::string& prefix, std::vector<Named>& named) const {
    for (const auto& [name, parameter] : own_) named.push_back({prefix + name, parameter.get()});
    for (const auto& [name, module] : inside_) module->collect(prefix + name + ".", named);
  }

  std::vector<std::pair<std::string, std::unique_ptr<Parameter>>> own_;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> inside_;
};

}  // namespace sluice::trace
