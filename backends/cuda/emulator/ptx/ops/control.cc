// Branches, ends, barriers and fences. The scheduler does what they ask for; here they are read.
#include "emulator/ptx/memory/block.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

void do_nothing_for(Warp&, const Instruction&) {}
void fence(Warp& warp, const Instruction&) { warp.block->races.begin_epoch(); }

void decode_bra(Decoder& d) {
  d.take("uni");
  d.need_operands(1, 1);
  d.instruction.flow = Flow::kBranch;
  d.builder().branch(d.line(), d.operand(0).name, d.position());
  d.finish();
}

void decode_brx(Decoder& d) {
  if (!d.take("idx")) d.refuse_form();
  d.take("uni");
  d.need_operands(2, 2);
  const std::vector<std::string_view>* labels = d.builder().find_targets(d.operand(1).name);
  if (labels == nullptr) d.refuse("names no .branchtargets");
  d.instruction.flow = Flow::kTable;
  d.instruction.in[0] = d.source(0, Type::kU32);
  d.begin_list();
  std::vector<std::uint32_t>& list = d.builder().program().list;
  for (const std::string_view label : *labels) {
    d.builder().branch(d.line(), label, list.size(), true);
    list.push_back(0);
  }
  d.instruction.offset = static_cast<std::int64_t>(labels->size());
  d.finish();
}

template <Flow kFlow>
void decode_end(Decoder& d) {
  d.take("uni");
  d.need_operands(0, 0);
  d.instruction.flow = kFlow;
  d.finish();
}

/// bar.warp.sync: the lanes come together.
void decode_warp_barrier(Decoder& d) {
  if (!d.take("sync")) d.refuse_form();
  d.need_operands(1, 1);
  d.instruction.flow = Flow::kTogether;
  d.instruction.in[3] = d.source(0, Type::kB32);
  d.instruction.step = do_nothing_for;
  d.finish();
}

/// The reduction of a barrier: its result, and the predicate, which is the last operand.
void read_reduction(Decoder& d, int operation) {
  Instruction& in = d.instruction;
  const Type type = d.need_type();
  if (operation < 0 || type != (operation == 0 ? Type::kU32 : Type::kPred)) d.refuse_form();
  in.modifiers |= static_cast<std::uint32_t>(operation) << kBarrierOperationShift | kBarrierReduces;
  in.out = d.target(0, type);
  Operand source = d.operand(d.operand_count() - 1);
  if (source.is_negated) in.modifiers |= kBarrierNegates;
  source.is_negated = false;
  in.in[2] = d.source(source, Type::kPred);
}

/// in[0]: the barrier's number, in[1]: how many threads it waits for, if `count` is 1.
void decode_bar(Decoder& d) {
  if (d.take("warp")) return decode_warp_barrier(d);
  if (d.take("cluster")) d.refuse_form();
  d.take("cta");
  d.take("aligned");
  Instruction& in = d.instruction;
  in.flow = Flow::kBarrier;
  const int kind = d.take_one_of({"sync", "arrive", "red"});
  if (kind < 0) d.refuse_form();
  if (kind == 1) in.modifiers |= kBarrierArrives;
  const std::size_t first = kind == 2 ? 1 : 0, last = d.operand_count() - (kind == 2 ? 1 : 0);
  d.need_operands(kind == 2 ? 3 : kind == 1 ? 2 : 1, kind == 2 ? 4 : 2);
  if (kind == 2) read_reduction(d, d.take_one_of({"popc", "and", "or"}));
  in.in[0] = d.source(first, Type::kU32);
  in.count = last > first + 1 ? 1 : 0;
  if (in.count == 1) in.in[1] = d.source(first + 1, Type::kU32);
  d.finish();
}

void decode_fence(Decoder& d) {
  if (d.take_one_of({"proxy", "mbarrier_init"}) >= 0) d.refuse_form();
  d.take_one_of({"sc", "acq_rel", "acquire", "release"});
  d.take_one_of({"cta", "gpu", "gl", "sys", "cluster"});
  d.need_operands(0, 0);
  d.instruction.step = fence;
  d.finish();
}

void decode_nanosleep(Decoder& d) {
  d.need_type();
  d.need_operands(1, 1);
  d.instruction.flow = Flow::kYield;
  d.finish();
}

void decode_pmevent(Decoder& d) {
  d.take("mask");
  d.need_operands(1, 1);
  d.instruction.step = do_nothing_for;
  d.finish();
}

/// `modifiers` bytes of local memory from `offset` to `target`: how parameters and results travel.
void copy_local(Warp& warp, const Instruction& in) {
  Block& block = *warp.block;
  const std::size_t size = block.program->local_bytes;
  for_lanes(warp.mask, [&](int lane) {
    std::byte* own =
        block.local.data() + (warp.index * kLanes + static_cast<std::size_t>(lane)) * size;
    std::memmove(own + in.target, own + in.offset, in.modifiers);
  });
}

void emit_copy(Decoder& d, std::uint64_t from, std::uint64_t to, std::size_t bytes) {
  d.instruction = {};
  d.instruction.step = copy_local;
  d.instruction.offset = static_cast<std::int64_t>(from);
  d.instruction.target = static_cast<std::uint32_t>(to);
  d.instruction.modifiers = static_cast<std::uint32_t>(bytes);
  d.emit();
}

/// The local memory that a call's list names, for each of `count` parameters.
std::vector<std::uint64_t> read_arguments(Decoder& d, const Operand* list, std::size_t count) {
  if ((list == nullptr ? 0 : list->parts.size()) != count)
    d.refuse("passes another number of parameters than the function has");
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < count; ++i) {
    const Symbol* symbol = d.builder().find(list->parts[i].name);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::kMemory ||
        symbol->space != Space::kLocal)
      d.refuse_form();
    offsets.push_back(symbol->offset_bytes);
  }
  return offsets;
}

/// call (result), function, (parameter, ...); both lists may be missing.
void decode_call(Decoder& d) {
  d.take("uni");
  std::size_t at = 0;
  const auto take_list = [&]() -> const Operand* {
    const bool is_list = at < d.operand_count() && d.operand(at).kind == Operand::Kind::kVector;
    return is_list ? &d.operand(at++) : nullptr;
  };
  const Operand* results = take_list();
  const std::string name(d.operand(at).name);
  const Callee* callee = d.builder().find_callee(d.operand(at++).name);
  const Operand* arguments = take_list();
  if (callee == nullptr || at != d.operand_count())
    refuse_feature(d.line(), "calls of other than known functions: " + name);
  if (!callee->has_body) {
    if (name != "__assertfail") refuse_feature(d.line(), "function " + name);
    d.instruction.flow = Flow::kTrap;
    return d.finish();
  }
  const std::vector<std::uint64_t> from = read_arguments(d, arguments, callee->parameters.size());
  const std::vector<std::uint64_t> to = read_arguments(d, results, callee->results.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    emit_copy(d, from[i], callee->parameters[i].offset_bytes, callee->parameter_bytes[i]);
  }
  d.instruction = {};
  d.instruction.flow = Flow::kCall;
  d.builder().call(d.operand(results == nullptr ? 0 : 1).name, d.position());
  d.finish();
  for (std::size_t i = 0; i < to.size(); ++i) {
    emit_copy(d, callee->results[i].offset_bytes, to[i], callee->result_bytes[i]);
  }
}

}  // namespace

void add_control(Opcodes* opcodes) {
  const std::pair<std::string_view, Decode> rows[] = {{"bra", decode_bra},
                                                      {"brx", decode_brx},
                                                      {"ret", decode_end<Flow::kReturn>},
                                                      {"exit", decode_end<Flow::kExit>},
                                                      {"trap", decode_end<Flow::kTrap>},
                                                      {"brkpt", decode_end<Flow::kTrap>},
                                                      {"call", decode_call},
                                                      {"bar", decode_bar},
                                                      {"barrier", decode_bar},
                                                      {"membar", decode_fence},
                                                      {"fence", decode_fence},
                                                      {"nanosleep", decode_nanosleep},
                                                      {"pmevent", decode_pmevent}};
  opcodes->insert(std::begin(rows), std::end(rows));
}

}  // namespace sluice::cuda::ptx
