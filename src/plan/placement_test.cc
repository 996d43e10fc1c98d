#include "plan/placement.h"

#include <gtest/gtest.h>

namespace sluice::plan {
namespace {

using ir::OperandId;

/// Builds subgraphs of one-input, one-output steps on f32[16] operands.
class PlaceOperands : public ::testing::Test {
 protected:
  OperandId operand(std::string name) {
    return main_.add_operand(
        {std::move(name), ir::Type::tensor(ir::ElementType::kF32, ir::Shape{16}), {}});
  }

  OperandId step(std::vector<OperandId> inputs, StepTraits traits = {}) {
    const OperandId output = operand("t" + std::to_string(traits_.size()));
    ir::Operation operation;
    operation.kind = "Any";
    operation.inputs = std::move(inputs);
    operation.outputs = {output};
    main_.add_operation(std::move(operation));
    traits_.push_back(traits);
    return output;
  }

  Placement place(std::size_t begin, std::size_t end, const SharedTable<Place>* earlier = nullptr) {
    types_.clear();
    for (std::size_t i = 0; i < main_.num_operands(); ++i) {
      types_.push_back(main_.operand(OperandId(i)).type);
    }
    PlacementRequest request;
    request.subgraph = &main_;
    request.begin = begin;
    request.end = end;
    request.type_of = [this](ir::OperandId id) -> const ir::Type& { return types_[id.index()]; };
    request.traits = std::span(traits_).subspan(begin, end - begin);
    request.earlier = earlier;
    auto placement = place_operands(request);
    EXPECT_TRUE(placement.is_ok()) << placement.status().to_string();
    return std::move(placement).value();
  }
  Placement place_all() { return place(0, traits_.size()); }

  static const Place& at(const Placement& placement, OperandId id) {
    return placement.places[id.index()];
  }

  static constexpr StepTraits kView = {true, 0};
  static constexpr StepTraits kInPlace = {false, 1};

  ir::Subgraph main_;
  std::vector<StepTraits> traits_;
  std::vector<ir::Type> types_;
};

TEST_F(PlaceOperands, ViewsInTheArenaNameTheOwnerOfTheirMemory) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId owner = step({x});
  const OperandId view = step({owner}, kView);
  main_.outputs = {step({view})};
  const Placement placement = place_all();
  EXPECT_EQ(at(placement, view).kind, Place::Kind::kArena);
  EXPECT_EQ(at(placement, view).operand, owner);
  EXPECT_EQ(at(placement, owner).operand, owner);
}

TEST_F(PlaceOperands, RandomStateHasABindingInEveryRange) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId state = step({}, {false, 0, false, true});
  const OperandId early = step({x, state});
  const OperandId late = step({early, state});
  main_.outputs = {late};
  const Placement first = place(0, 2);
  EXPECT_EQ(at(first, state).kind, Place::Kind::kBinding);
  EXPECT_EQ(at(first, state).binding, binding_numbers(main_).random_state());
  EXPECT_EQ(first.kept, std::vector<OperandId>{early});
  const Placement second = place(2, 3, &first.places);
  EXPECT_EQ(at(second, state).binding, binding_numbers(main_).random_state());
  EXPECT_TRUE(second.kept.empty());
}

TEST_F(PlaceOperands, ResultsAreWrittenStraightToTheirOutput) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId hidden = step({x});
  const OperandId y = step({hidden}, kInPlace);
  main_.outputs = {y};
  const Placement placement = place_all();
  EXPECT_EQ(at(placement, x).binding, 0);
  EXPECT_EQ(at(placement, hidden).kind, Place::Kind::kArena);
  EXPECT_EQ(at(placement, y).binding, 1);
  EXPECT_TRUE(placement.copies.empty());
  EXPECT_EQ(placement.layout.arena_bytes, 64);
}

TEST_F(PlaceOperands, ReturnedViewPlacesItsSourceInTheOutput) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId hidden = step({x});
  const OperandId y = step({hidden}, kView);
  main_.outputs = {y};
  const Placement placement = place_all();
  EXPECT_EQ(at(placement, hidden).binding, 1);
  EXPECT_EQ(at(placement, y).binding, 1);
  EXPECT_EQ(placement.layout.arena_bytes, 0);
}

TEST_F(PlaceOperands, OutputsThatNothingWritesAreCopied) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId y = step({x}, kView);
  main_.outputs = {y, x};
  const Placement placement = place_all();
  ASSERT_EQ(placement.copies.size(), 2U);
  EXPECT_EQ(placement.copies[0].source, y);
  EXPECT_EQ(placement.copies[1].source, x);
  EXPECT_EQ(at(placement, y).binding, 0) << "the view lies in the input";
}

TEST_F(PlaceOperands, ResultAskedForTwiceIsCopiedOnce) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId y = step({x});
  main_.outputs = {y, y};
  const Placement placement = place_all();
  ASSERT_EQ(placement.copies.size(), 1U);
  EXPECT_EQ(placement.copies[0].output, 1U);
}

TEST_F(PlaceOperands, OperandsReadByLaterRangesOutliveTheArena) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId a = step({x});
  const OperandId view = step({a}, kView);
  const OperandId b = step({view}, kInPlace);
  main_.outputs = {b};
  const Placement first = place(0, 2);
  ASSERT_EQ(first.kept, std::vector<OperandId>{a});
  const Placement second = place(2, 3, &first.places);
  EXPECT_EQ(at(second, view).kind, Place::Kind::kBinding);
  EXPECT_EQ(at(second, view).binding, binding_numbers(main_).kept(a));
  EXPECT_EQ(at(second, b).binding, 1);
}

TEST_F(PlaceOperands, KeptLayoutThatDoesNotFitIsReplaced) {
  const OperandId x = operand("x");
  main_.inputs = {x};
  const OperandId a = step({x});
  const OperandId b = step({a});
  main_.outputs = {step({a, b})};
  Placement placement = place_all();
  ArenaLayout overlapping = placement.layout;
  overlapping.offset_bytes.assign(overlapping.offset_bytes.size(), 0);
  PlacementRequest request;
  request.subgraph = &main_;
  request.end = 3;
  request.type_of = [this](ir::OperandId id) -> const ir::Type& { return types_[id.index()]; };
  request.traits = traits_;
  request.layout = &overlapping;
  const auto replaced = place_operands(request);
  ASSERT_TRUE(replaced.is_ok());
  EXPECT_NE(at(*replaced, a).offset_bytes, at(*replaced, b).offset_bytes);
}

}  // namespace
}  // namespace sluice::plan
