// Batch, instance, layer, group, RMS, Lp, mean-variance and local response normalization.
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// Input 0 as doubles, or why not. Its shape is also the output's.
Status read_data(const Call& call, Doubles* x) {
  *x = read_doubles(call.input(0));
  if (x->size() != index(size_of(input_dims(call, 0))))
    return refuse_model(call, "unknown element type");
  return check_dims(call, call.output(0), input_dims(call, 0), "output");
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(std::span<const double> x) {
  Moments moments;
  const auto count = static_cast<double>(x.size());
  // Divided before the sum, so that no sum overflows.
  for (const double value : x) moments.mean += value / count;
  for (const double value : x) {
    moments.variance += (value - moments.mean) * (value - moments.mean) / count;
  }
  return moments;
}

double inverse_deviation(double variance, double epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

double epsilon_of(const Call& call) { return call.attributes().get_float("epsilon", 1e-5F); }

/// [N, C, inner...]; a vector is N single channels.
struct Channels {
  std::size_t count = 1, inner = 1;
  std::size_t channel_of(std::size_t element) const { return element / inner % count; }
};

Channels channels_of(Dims dims) {
  if (dims.size() < 2) return {};
  return {index(dims[1]), index(size_of(dims.subspan(2)))};
}

Status read_per_channel(const Call& call, int input, std::size_t channels, Doubles* values) {
  *values = read_doubles(call.input(input));
  if (values->size() == channels) return plugin::ok();
  return refuse(call, "input " + std::to_string(input) + " needs an element per channel");
}

/// Mean and variance of each channel over the batch.
std::vector<Moments> batch_moments(const Doubles& x, const Channels& channels) {
  std::vector<Moments> moments(channels.count);
  const auto count = static_cast<double>(x.size()) / static_cast<double>(channels.count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    moments[channels.channel_of(i)].mean += x[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    Moments& of_channel = moments[channels.channel_of(i)];
    const double distance = x[i] - of_channel.mean;
    of_channel.variance += distance * distance / count;
  }
  return moments;
}

/// Replaces the statistics by the batch's, and writes the running ones.
Status train(const Call& call, const Doubles& x, const Channels& channels, Doubles* mean,
             Doubles* variance) {
  const double momentum = call.attributes().get_float("momentum", 0.9F);
  const std::vector<Moments> moments = batch_moments(x, channels);
  Doubles running_mean, running_variance;
  for (std::size_t c = 0; c < channels.count; ++c) {
    running_mean.push_back((*mean)[c] * momentum + moments[c].mean * (1 - momentum));
    running_variance.push_back((*variance)[c] * momentum + moments[c].variance * (1 - momentum));
    (*mean)[c] = moments[c].mean;
    (*variance)[c] = moments[c].variance;
  }
  Status status = plugin::ok();
  if (call.has_output(1)) status = write_doubles(call, 1, running_mean);
  if (status.is_ok() && call.has_output(2)) status = write_doubles(call, 2, running_variance);
  return status;
}

Status run_batch_normalization(const Call& call) {
  Doubles x, scale, bias, mean, variance;
  Status status = read_data(call, &x);
  const Channels channels = channels_of(input_dims(call, 0));
  int input = 1;
  for (Doubles* values : {&scale, &bias, &mean, &variance}) {
    if (status.is_ok()) status = read_per_channel(call, input++, channels.count, values);
  }
  const bool is_training = call.attributes().get_int("training_mode") != 0;
  if (status.is_ok() && is_training) status = train(call, x, channels, &mean, &variance);
  if (!status.is_ok()) return status;
  const double epsilon = epsilon_of(call);
  for (std::size_t c = 0; c < channels.count; ++c) {
    scale[c] *= inverse_deviation(variance[c], epsilon);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = channels.channel_of(i);
    x[i] = (x[i] - mean[c]) * scale[c] + bias[c];
  }
  return write_doubles(call, 0, x);
}

/// Normalizes each run of `size` elements.
void normalize_runs(std::span<double> x, std::size_t size, double epsilon) {
  for (std::size_t begin = 0; size > 0 && begin + size <= x.size(); begin += size) {
    const auto run = x.subspan(begin, size);
    const Moments moments = moments_of(run);
    const double factor = inverse_deviation(moments.variance, epsilon);
    for (double& value : run) value = (value - moments.mean) * factor;
  }
}

/// Scale and bias per channel; version 18 of GroupNormalization had them per group.
Status scale_channels(const Call& call, const Channels& channels, std::size_t groups, Doubles& x) {
  Doubles scale = read_doubles(call.input(1));
  Doubles bias = read_doubles(call.input(2));
  const bool is_per_group = scale.size() == groups && scale.size() != channels.count;
  const std::size_t expected = is_per_group ? groups : channels.count;
  if (scale.size() != expected || bias.size() != expected) {
    return refuse(call, "scale and bias need an element per channel");
  }
  const std::size_t divisor = is_per_group ? channels.count / groups : 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = channels.channel_of(i) / divisor;
    x[i] = x[i] * scale[c] + bias[c];
  }
  return write_doubles(call, 0, x);
}

Status run_grouped(const Call& call, std::int64_t groups) {
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const Channels channels = channels_of(input_dims(call, 0));
  if (input_dims(call, 0).size() < 2 || groups < 1 || channels.count % index(groups) != 0) {
    return refuse(call, "channels cannot be divided into " + std::to_string(groups) + " groups");
  }
  normalize_runs(x, channels.count / index(groups) * channels.inner, epsilon_of(call));
  return scale_channels(call, channels, index(groups), x);
}

Status run_instance_normalization(const Call& call) {
  const Dims dims = input_dims(call, 0);
  return run_grouped(call, dims.size() < 2 ? 0 : std::max<std::int64_t>(1, dims[1]));
}

Status run_group_normalization(const Call& call) {
  return run_grouped(call, call.attributes().get_int("num_groups"));
}

/// x * scale + bias, both broadcast to x; bias may be absent.
Status scale_broadcast(const Call& call, Doubles& x) {
  const Dims target = output_dims(call, 0);
  for (const int input : {1, 2}) {
    if (!call.has_input(input)) continue;
    const Doubles values = read_doubles(call.input(input));
    const Dims dims = input_dims(call, input);
    std::vector<std::int64_t> met;
    if (!broadcast_dims(dims, target, &met).is_ok() || !std::ranges::equal(met, target) ||
        values.size() != index(size_of(dims))) {
      return refuse(call, "input " + std::to_string(input) + " does not broadcast to the output");
    }
    for_each_broadcast(target, std::array{dims}, [&](auto i, const auto& offsets) {
      const double value = values[index(offsets[0])];
      x[index(i)] = input == 1 ? x[index(i)] * value : x[index(i)] + value;
    });
  }
  return write_doubles(call, 0, x);
}

/// Elements from the attribute's axis on; 0 if the axis is outside.
std::size_t run_size(const Call& call) {
  const Dims dims = input_dims(call, 0);
  const std::int64_t axis = wrap_axis(call.attributes().get_int("axis", -1), dims.size());
  return axis < 0 ? 0 : index(size_of(dims.subspan(index(axis))));
}

Status run_layer_normalization(const Call& call) {
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const std::size_t size = run_size(call);
  if (size == 0 && !x.empty()) return refuse(call, "the axis is outside the input");
  Doubles means, factors;
  for (std::size_t begin = 0; begin < x.size(); begin += size) {
    const Moments moments = moments_of(std::span(x).subspan(begin, size));
    means.push_back(moments.mean);
    factors.push_back(inverse_deviation(moments.variance, epsilon_of(call)));
  }
  normalize_runs(x, size, epsilon_of(call));
  Status status = scale_broadcast(call, x);
  if (status.is_ok() && call.has_output(1)) status = write_doubles(call, 1, means);
  if (status.is_ok() && call.has_output(2)) status = write_doubles(call, 2, factors);
  return status;
}

Status run_rms_normalization(const Call& call) {
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const std::size_t size = run_size(call);
  if (size == 0 && !x.empty()) return refuse(call, "the axis is outside the input");
  for (std::size_t begin = 0; begin < x.size(); begin += size) {
    const auto run = std::span(x).subspan(begin, size);
    double mean = 0;
    for (const double value : run) mean += value * value / static_cast<double>(size);
    for (double& value : run) value *= inverse_deviation(mean, epsilon_of(call));
  }
  return scale_broadcast(call, x);
}

Status run_lp_normalization(const Call& call) {
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const Dims dims = input_dims(call, 0);
  const std::int64_t axis = wrap_axis(call.attributes().get_int("axis", -1), dims.size());
  if (axis < 0) return refuse(call, "the axis is outside the input");
  const bool is_euclidean = call.attributes().get_int("p", 2) == 2;
  const std::size_t step = index(size_of(dims.subspan(index(axis) + 1)));
  const std::size_t length = index(dims[index(axis)]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / step % length != 0) continue;  // not the first of its line
    double norm = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const double value = x[i + k * step];
      norm += is_euclidean ? value * value : std::fabs(value);
    }
    if (is_euclidean) norm = std::sqrt(norm);
    for (std::size_t k = 0; k < length && norm != 0; ++k) x[i + k * step] /= norm;
  }
  return write_doubles(call, 0, x);
}

/// Assigns each element to the set with which it is normalized.
Status run_mean_variance(const Call& call) {
  constexpr double kEpsilon = 1e-9;
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const Dims dims = input_dims(call, 0);
  std::vector<std::int64_t> kept(dims.begin(), dims.end());
  for (const std::int64_t named : call.attributes().get_ints("axes")) {
    const std::int64_t axis = wrap_axis(named, dims.size());
    if (axis < 0) return refuse(call, "an axis is outside the input");
    kept[index(axis)] = 1;
  }
  std::vector<Doubles> sets(index(size_of(kept)));
  const auto for_each = [&](const auto& visit) {
    for_each_broadcast(dims, std::array{Dims(kept)},
                       [&](auto i, const auto& offsets) { visit(index(i), index(offsets[0])); });
  };
  for_each([&](std::size_t i, std::size_t set) { sets[set].push_back(x[i]); });
  std::vector<Moments> moments;
  for (const Doubles& set : sets) moments.push_back(moments_of(set));
  for_each([&](std::size_t i, std::size_t set) {
    x[i] = (x[i] - moments[set].mean) / (std::sqrt(moments[set].variance) + kEpsilon);
  });
  return write_doubles(call, 0, x);
}

Status run_lrn(const Call& call) {
  Doubles x;
  if (Status status = read_data(call, &x); !status.is_ok()) return status;
  const plugin::Attributes attributes = call.attributes();
  const std::int64_t size = attributes.get_int("size");
  if (size < 1 || input_dims(call, 0).size() < 2)
    return refuse_model(call, "size must be positive");
  const double alpha = attributes.get_float("alpha", 1e-4F) / static_cast<double>(size);
  const double beta = attributes.get_float("beta", 0.75F);
  const double bias = attributes.get_float("bias", 1);
  const Channels channels = channels_of(input_dims(call, 0));
  const auto last = static_cast<std::int64_t>(channels.count) - 1;
  Doubles y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto c = static_cast<std::int64_t>(channels.channel_of(i));
    const std::int64_t begin = c - std::min(c, (size - 1) / 2);
    const std::int64_t end = c + std::min(last - c, size / 2);
    double energy = 0;
    for (std::int64_t k = begin; k <= end; ++k) {
      // The difference may be negative: as a size it wraps, and the sum wraps back.
      const double value = x[i + index(k - c) * channels.inner];
      energy += value * value;
    }
    y[i] = x[i] / std::pow(bias + alpha * energy, beta);
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> normalization_kernels() {
  return {{.kind = "BatchNormalization", .run = run_batch_normalization},
          {.kind = "InstanceNormalization", .run = run_instance_normalization},
          {.kind = "GroupNormalization", .run = run_group_normalization},
          {.kind = "LayerNormalization", .run = run_layer_normalization},
          {.kind = "RMSNormalization", .run = run_rms_normalization},
          {.kind = "LpNormalization", .run = run_lp_normalization},
          {.kind = "MeanVarianceNormalization", .run = run_mean_variance},
          {.kind = "LRN", .run = run_lrn}};
}

}  // namespace sluice::reference
