// Values between the lanes of a warp: shuffles, votes, matches, reductions.
#include <algorithm>

#include "emulator/ptx/memory/block.h"
#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

enum class Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

/// The lane that `lane` reads, and whether it lies in range (PTX ISA, "shfl.sync").
template <Shuffle kMode>
int shuffle_source(int lane, std::uint32_t b, std::uint32_t c, bool* in_range) {
  const int by = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31),
            segment = static_cast<int>(c >> 8 & 31);
  const int min_lane = lane & segment, max_lane = min_lane | (clamp & ~segment);
  int source = 0;
  switch (kMode) {
    case Shuffle::kUp: source = lane - by; break;
    case Shuffle::kDown: source = lane + by; break;
    case Shuffle::kButterfly: source = lane ^ by; break;
    case Shuffle::kIndex: source = min_lane | (by & ~segment); break;
  }
  *in_range = kMode == Shuffle::kUp ? source >= max_lane : source <= max_lane;
  return *in_range ? source : lane;
}

template <Shuffle kMode>
void shuffle(Warp& warp, const Instruction& in) {
  const auto* a = warp.lanes<std::uint32_t>(in.in[0]);
  const auto *b = warp.lanes<std::uint32_t>(in.in[1]), *c = warp.lanes<std::uint32_t>(in.in[2]);
  std::uint32_t results[kLanes], in_range = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bool is_in_range = false;
    const int source = shuffle_source<kMode>(lane, b[lane], c[lane], &is_in_range);
    results[lane] = a[source & 31];
    in_range |= std::uint32_t{is_in_range} << lane;
  }
  warp.store(in.out, results);
  warp.store_predicate(in.target, in_range);
}

/// The lanes of the mask for which the source predicate holds.
std::uint32_t ballot_of(const Warp& warp, const Instruction& in) {
  const std::uint32_t bits = warp.predicate(in.in[0]);
  return ((in.modifiers & 1) != 0 ? ~bits : bits) & warp.mask;
}
void vote_all(Warp& warp, const Instruction& in) {
  warp.store_predicate(in.out, ballot_of(warp, in) == warp.mask ? kAllLanes : 0);
}
void vote_any(Warp& warp, const Instruction& in) {
  warp.store_predicate(in.out, ballot_of(warp, in) != 0 ? kAllLanes : 0);
}
void vote_uniform(Warp& warp, const Instruction& in) {
  const std::uint32_t bits = ballot_of(warp, in);
  warp.store_predicate(in.out, bits == 0 || bits == warp.mask ? kAllLanes : 0);
}
void vote_ballot(Warp& warp, const Instruction& in) {
  const std::uint32_t bits = ballot_of(warp, in);
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, bits); });
}
void active_mask(Warp& warp, const Instruction& in) {
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, warp.mask); });
}

void match_any(Warp& warp, const Instruction& in) {
  std::uint32_t results[kLanes] = {};
  for_lanes(warp.mask, [&](int lane) {
    for_lanes(warp.mask, [&](int other) {
      results[lane] |= std::uint32_t{warp.read(in.in[0], lane) == warp.read(in.in[0], other)}
                       << other;
    });
  });
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, results[lane]); });
}
void match_all(Warp& warp, const Instruction& in) {
  const std::uint64_t first = warp.read(in.in[0], std::countr_zero(warp.mask));
  bool is_same = true;
  for_lanes(warp.mask, [&](int lane) { is_same &= warp.read(in.in[0], lane) == first; });
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, is_same ? warp.mask : 0); });
  warp.store_predicate(in.target, is_same ? kAllLanes : 0);
}

struct ReduceAdd {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a + b; }
};
struct ReduceAnd {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a & b; }
};
struct ReduceOr {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a | b; }
};
struct ReduceXor {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a ^ b; }
};
template <class T>
struct ReduceMin {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    return static_cast<T>(a) < static_cast<T>(b) ? a : b;
  }
};
template <class T>
struct ReduceMax {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    return static_cast<T>(a) > static_cast<T>(b) ? a : b;
  }
};

template <class Op>
void reduce(Warp& warp, const Instruction& in) {
  const auto* a = warp.lanes<std::uint32_t>(in.in[0]);
  const int first = std::countr_zero(warp.mask);
  std::uint32_t result = a[first];
  for_lanes(warp.mask & (warp.mask - 1), [&](int lane) { result = Op::of(result, a[lane]); });
  for_lanes(warp.mask, [&](int lane) { warp.write(in.out, lane, result); });
}

/// The last operand names the lanes that must be together.
void read_members(Decoder& d, std::size_t index) {
  if (!d.take("sync")) d.refuse_form();
  d.instruction.flow = Flow::kTogether;
  d.instruction.in[3] = d.source(index, Type::kB32);
}

Place second_result(Decoder& d) {
  const Operand& result = d.operand(0);
  return result.other.empty() ? d.builder().sink(false) : d.target_name(result.other, Type::kPred);
}

void decode_shfl(Decoder& d) {
  d.need_operands(5, 5);
  read_members(d, 4);
  const int mode = d.take_one_of({"up", "down", "bfly", "idx"});
  if (mode < 0 || d.need_type() != Type::kB32) d.refuse_form();
  constexpr Step kSteps[] = {shuffle<Shuffle::kUp>, shuffle<Shuffle::kDown>,
                             shuffle<Shuffle::kButterfly>, shuffle<Shuffle::kIndex>};
  d.instruction.step = kSteps[mode];
  d.instruction.out = d.target_name(d.operand(0).name, Type::kB32);
  d.instruction.target = second_result(d);
  for (std::size_t i = 0; i < 3; ++i) d.instruction.in[i] = d.source(i + 1, Type::kB32);
  d.finish();
}

void decode_vote(Decoder& d) {
  d.need_operands(3, 3);
  read_members(d, 2);
  const int mode = d.take_one_of({"all", "any", "uni", "ballot"});
  const Type type = d.need_type();
  if (mode < 0 || type != (mode == 3 ? Type::kB32 : Type::kPred)) d.refuse_form();
  constexpr Step kSteps[] = {vote_all, vote_any, vote_uniform, vote_ballot};
  d.instruction.step = kSteps[mode];
  d.instruction.out = d.target(0, type);
  Operand source = d.operand(1);
  d.instruction.modifiers = source.is_negated ? 1 : 0;
  source.is_negated = false;
  d.instruction.in[0] = d.source(source, Type::kPred);
  d.finish();
}

void decode_match(Decoder& d) {
  d.need_operands(3, 3);
  read_members(d, 2);
  const int mode = d.take_one_of({"any", "all"});
  const Type type = d.need_type();
  if (mode < 0 || size_of(type) < 4) d.refuse_form();
  d.instruction.step = mode == 0 ? match_any : match_all;
  d.instruction.out = d.target_name(d.operand(0).name, Type::kB32);
  d.instruction.target = second_result(d);
  d.instruction.in[0] = d.source(1, type);
  d.finish();
}

void decode_activemask(Decoder& d) {
  d.need_operands(1, 1);
  if (d.need_type() != Type::kB32) d.refuse_form();
  d.instruction.step = active_mask;
  d.instruction.out = d.target(0, Type::kB32);
  d.finish();
}

void decode_redux(Decoder& d) {
  d.need_operands(3, 3);
  read_members(d, 2);
  const int operation = d.take_one_of({"add", "and", "or", "xor", "min", "max"});
  const Type type = d.need_type();
  if (operation < 0 || size_of(type) != 4 || is_float(type)) d.refuse_form();
  const bool has_sign = is_signed(type);
  const Step steps[] = {
      reduce<ReduceAdd>,
      reduce<ReduceAnd>,
      reduce<ReduceOr>,
      reduce<ReduceXor>,
      has_sign ? reduce<ReduceMin<std::int32_t>> : reduce<ReduceMin<std::uint32_t>>,
      has_sign ? reduce<ReduceMax<std::int32_t>> : reduce<ReduceMax<std::uint32_t>>};
  d.instruction.step = steps[operation];
  d.instruction.out = d.target(0, type);
  d.instruction.in[0] = d.source(1, type);
  d.finish();
}

}  // namespace

void add_lanes(Opcodes* opcodes) {
  opcodes->emplace("shfl", decode_shfl);
  opcodes->emplace("vote", decode_vote);
  opcodes->emplace("match", decode_match);
  opcodes->emplace("activemask", decode_activemask);
  opcodes->emplace("redux", decode_redux);
}

}  // namespace sluice::cuda::ptx
