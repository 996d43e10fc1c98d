// A small library of layers over sluice/trace/module.hpp. Parameters are zeros, and scales ones,
// until a program sets them: Module::find_parameter("blocks.0.attend.query.weight").
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sluice/trace/trace.hpp"

namespace layers {

using sluice::trace::Module;
using sluice::trace::Parameter;
using sluice::trace::Tensor;
using Dim = std::int64_t;

inline Parameter& of_ones(Parameter& parameter) {
  std::ranges::fill(parameter.values(), 1.0F);
  return parameter;
}

/// [..., from] to [..., to]
class Linear : public Module {
 public:
  Linear(Dim from, Dim to)
      : weight_(add_parameter("weight", {to, from})), bias_(add_parameter("bias", {to})) {}
  Tensor operator()(const Tensor& x) const {
    return matmul(x, weight_.tensor().transpose()) + bias_;
  }

 private:
  Parameter& weight_;
  Parameter& bias_;
};

/// [N, from, H, W] to [N, to, H, W], with a square kernel of an odd size.
class Conv2d : public Module {
 public:
  Conv2d(Dim from, Dim to, Dim size)
      : pad_(size / 2),
        weight_(add_parameter("weight", {to, from, size, size})),
        bias_(add_parameter("bias", {to})) {}
  Tensor operator()(const Tensor& x) const {
    return conv(x, weight_, bias_, {.pads = {pad_, pad_, pad_, pad_}});
  }

 private:
  Dim pad_;
  Parameter& weight_;
  Parameter& bias_;
};

class BatchNorm : public Module {
 public:
  explicit BatchNorm(Dim channels)
      : scale_(of_ones(add_parameter("scale", {channels}))),
        bias_(add_parameter("bias", {channels})),
        mean_(add_parameter("mean", {channels})),
        variance_(of_ones(add_parameter("variance", {channels}))) {}
  Tensor operator()(const Tensor& x) const {
    return batch_norm(x, scale_, bias_, mean_, variance_);
  }

 private:
  Parameter& scale_;
  Parameter& bias_;
  Parameter& mean_;
  Parameter& variance_;
};

class LayerNorm : public Module {
 public:
  explicit LayerNorm(Dim width)
      : scale_(of_ones(add_parameter("scale", {width}))), bias_(add_parameter("bias", {width})) {}
  Tensor operator()(const Tensor& x) const { return layer_norm(x, scale_, bias_); }

 private:
  Parameter& scale_;
  Parameter& bias_;
};

/// i64[...] to [..., width]
class Embedding : public Module {
 public:
  Embedding(Dim words, Dim width) : table_(add_parameter("table", {words, width})) {}
  Tensor operator()(const Tensor& words) const { return gather(table_, words); }

 private:
  Parameter& table_;
};

/// [N, T, width] to the same: each place looks at all places of its row.
class SelfAttention : public Module {
 public:
  SelfAttention(Dim width, Dim heads)
      : heads_(heads),
        size_(width / heads),
        query_(add_module<Linear>("query", width, width)),
        key_(add_module<Linear>("key", width, width)),
        value_(add_module<Linear>("value", width, width)),
        out_(add_module<Linear>("out", width, width)) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor scores =
        matmul(heads_of(query_(x)), heads_of(key_(x)).transpose({0, 1, 3, 2})) / std::sqrt(size_);
    const Tensor seen = matmul(softmax(scores), heads_of(value_(x)));
    return out_(seen.transpose({0, 2, 1, 3}).reshape({0, 0, heads_ * size_}));
  }

 private:
  /// [N, heads, T, size]
  Tensor heads_of(const Tensor& x) const {
    return x.reshape({0, 0, heads_, size_}).transpose({0, 2, 1, 3});
  }

  Dim heads_;
  Dim size_;
  Linear& query_;
  Linear& key_;
  Linear& value_;
  Linear& out_;
};

/// A block of a transformer that normalizes first.
class Block : public Module {
 public:
  Block(Dim width, Dim heads)
      : before_attention_(add_module<LayerNorm>("norm1", width)),
        attend_(add_module<SelfAttention>("attend", width, heads)),
        before_layers_(add_module<LayerNorm>("norm2", width)),
        widen_(add_module<Linear>("widen", width, 4 * width)),
        narrow_(add_module<Linear>("narrow", 4 * width, width)) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor y = x + attend_(before_attention_(x));
    return y + narrow_(gelu(widen_(before_layers_(y))));
  }

 private:
  LayerNorm& before_attention_;
  SelfAttention& attend_;
  LayerNorm& before_layers_;
  Linear& widen_;
  Linear& narrow_;
};

}  // namespace layers
