#include "ops/rows/prove_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/text/graph_text.h"

namespace sluice::ops {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Why rows mix in a network of these lines; empty if they do not. A line is "x : f32[N,4]" for an
/// input, "-> y" for an output, a constant or an operation.
std::string obstacle(std::string_view lines) {
  const std::string text = fmt::format("subgraph @0 \"main\" {{\n{}\n}}\n", lines);
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string() << text;
  if (!graph.is_ok()) return "unreadable";
  const Status status = prove_rows(*graph);
  return status.is_ok() ? "" : std::string(status.message());
}

/// One operation over x : f32[N,4,6] with result y and the constants that it names.
std::string of_x(std::string_view operation, std::string_view constants = "") {
  return obstacle(fmt::format("input %x : f32[N,4,6]\n{}\n[%y : f32[?]] = {}\noutput [%y]",
                              constants, operation));
}

TEST(ProveRows, ElementwiseOperatorsKeepRowsApart) {
  EXPECT_EQ(of_x("Relu.14[%x]"), "");
  EXPECT_EQ(of_x("Add.14[%x, %x]"), "");
  EXPECT_EQ(of_x("Mul.14[%c, %x]", "const %c : f32[6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"), "");
  EXPECT_EQ(of_x("Mul.14[%c, %x]", "const %c : f32[1,4,1] = [1.0, 2.0, 3.0, 4.0]"), "");
}

TEST(ProveRows, ConstantsOfTheirOwnRowsMixThem) {
  EXPECT_THAT(of_x("Mul.14[%c, %x]", "const %c : f32[2,1,1] = [1.0, 2.0]"),
              HasSubstr("Mul node mixes rows"));
  EXPECT_THAT(obstacle("input %x : f32[2,3]\nconst %c : f32[2,1] = [1.0, 2.0]\n"
                       "[%y : f32[2,3]] = Add.14[%x, %c]\noutput [%y]"),
              HasSubstr("Add node mixes rows"));
}

TEST(ProveRows, RowsThatMeetAnotherAxisMix) {
  EXPECT_THAT(obstacle("input %x : f32[N,1]\n[%t : f32[?]] = Transpose.25[%x] {perm = [1, 0]}\n"
                       "[%y : f32[?]] = Add.14[%x, %t]\noutput [%y]"),
              HasSubstr("Add node mixes rows"));
}

TEST(ProveRows, OperatorsAlongAnotherAxisKeepRowsApart) {
  EXPECT_EQ(of_x("Softmax.13[%x] {axis = 1}"), "");
  EXPECT_EQ(of_x("Softmax.13[%x] {axis = -1}"), "");
  EXPECT_EQ(of_x("LpNormalization.22[%x] {axis = 2, p = 2}"), "");
  EXPECT_EQ(of_x("CumSum.14[%x, %c]", "const %c : i64[] = [1]"), "");
  EXPECT_EQ(of_x("ReduceSum.13[%x, %c] {keepdims = 0, noop_with_empty_axes = 0}",
                 "const %c : i64[2] = [1, -1]"),
            "");
  EXPECT_EQ(of_x("ArgMax.13[%x] {axis = 1, keepdims = 0, select_last_index = 0}"), "");
}

TEST(ProveRows, OperatorsAlongTheRowsMixThem) {
  EXPECT_THAT(of_x("Softmax.13[%x] {axis = 0}"), HasSubstr("Softmax node mixes rows"));
  EXPECT_THAT(of_x("Softmax.13[%x] {axis = -3}"), HasSubstr("Softmax node mixes rows"));
  EXPECT_THAT(of_x("Softmax.11[%x] {axis = 0}"), HasSubstr("Softmax node mixes rows"));
  EXPECT_THAT(of_x("CumSum.14[%x, %c]", "const %c : i64[] = [0]"), HasSubstr("CumSum node mixes"));
  EXPECT_THAT(of_x("ReduceSum.13[%x] {keepdims = 1, noop_with_empty_axes = 0}"),
              HasSubstr("ReduceSum node mixes rows"));
  EXPECT_THAT(of_x("ReduceMax.20[%x, %c] {keepdims = 1, noop_with_empty_axes = 0}",
                   "const %c : i64[1] = [-3]"),
              HasSubstr("ReduceMax node mixes rows"));
  EXPECT_THAT(
      of_x("LayerNormalization.17[%x, %c] {axis = 0, epsilon = 1e-5}", "const %c : f32[1] = [1.0]"),
      HasSubstr("LayerNormalization node mixes"));
  EXPECT_THAT(of_x("DynamicQuantizeLinear.11[%x]"),
              HasSubstr("DynamicQuantizeLinear node is not known"));
}

TEST(ProveRows, SumsOfAllRowsThatAreAddedToEachMixThem) {
  EXPECT_THAT(obstacle("input %x : f32[N,4]\nconst %c : i64[1] = [0]\n"
                       "[%s : f32[?]] = ReduceSum.13[%x, %c] {keepdims = 1, noop_with_empty_axes "
                       "= 0}\n[%y : f32[?]] = Add.14[%x, %s]\noutput [%y]"),
              HasSubstr("ReduceSum node mixes rows"));
}

TEST(ProveRows, PartsOfRowsStayApartAndPartsOfAllMix) {
  const std::string_view part = "const %s : i64[1] = [1]\nconst %e : i64[1] = [3]";
  EXPECT_EQ(of_x("Slice.13[%x, %s, %e, %s]", part), "");
  EXPECT_THAT(of_x("Slice.13[%x, %s, %e]", part), HasSubstr("Slice node mixes rows"));
  EXPECT_THAT(of_x("Slice.13[%x, %s, %e, %a, %s]",
                   "const %s : i64[1] = [-1]\nconst %e : i64[1] = [-9223372036854775807]\n"
                   "const %a : i64[1] = [0]"),
              HasSubstr("Slice node mixes rows"));
  EXPECT_EQ(of_x("Pad.25[%x, %p] {mode = \"constant\"}", "const %p : i64[6] = [0, 1, 1, 0, 0, 2]"),
            "");
  EXPECT_THAT(of_x("Pad.25[%x, %p] {mode = \"wrap\"}", "const %p : i64[6] = [1, 0, 0, 0, 0, 0]"),
              HasSubstr("Pad node mixes rows"));
  EXPECT_EQ(of_x("Concat.13[%x, %x] {axis = 2}"), "");
  EXPECT_THAT(of_x("Concat.13[%x, %x] {axis = 0}"), HasSubstr("Concat node mixes rows"));
  EXPECT_THAT(of_x("Tile.13[%x, %r]", "const %r : i64[3] = [2, 1, 1]"),
              HasSubstr("Tile node mixes rows"));
}

TEST(ProveRows, ViewsKeepRowsThatStayWhole) {
  EXPECT_EQ(of_x("Reshape.25[%x, %s] {allowzero = 0}", "const %s : i64[2] = [0, 24]"), "");
  EXPECT_EQ(of_x("Reshape.25[%x, %s] {allowzero = 0}", "const %s : i64[3] = [-1, 6, 4]"), "");
  EXPECT_EQ(of_x("Flatten.25[%x] {axis = 1}"), "");
  // Two rows become one.
  EXPECT_NE(of_x("Reshape.25[%x, %s] {allowzero = 0}", "const %s : i64[2] = [-1, 48]"), "");
  EXPECT_NE(of_x("Flatten.25[%x] {axis = 2}"), "");
  // Through all steps of a sequence and back.
  EXPECT_EQ(obstacle("input %x : f32[N,4,6]\nconst %s : i64[2] = [-1, 6]\n"
                     "const %w : f32[6,1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
                     "const %t : i64[3] = [-1, 4, 1]\n"
                     "[%a : f32[?]] = Reshape.25[%x, %s] {allowzero = 0}\n"
                     "[%b : f32[?]] = MatMul.13[%a, %w]\n"
                     "[%y : f32[?]] = Reshape.25[%b, %t] {allowzero = 0}\noutput [%y]"),
            "");
}

TEST(ProveRows, TransposedRowsAreFollowed) {
  EXPECT_THAT(of_x("Transpose.25[%x] {perm = [1, 0, 2]}"), HasSubstr("output \"y\""));
  EXPECT_EQ(obstacle("input %x : f32[N,4,6]\n[%t : f32[?]] = Transpose.25[%x] {perm = [1, 0, 2]}\n"
                     "[%u : f32[?]] = Softmax.13[%t] {axis = 0}\n"
                     "[%y : f32[?]] = Transpose.25[%u] {perm = [1, 0, 2]}\noutput [%y]"),
            "");
  EXPECT_THAT(obstacle("input %x : f32[N,4]\n[%t : f32[?]] = Transpose.25[%x] {perm = [1, 0]}\n"
                       "[%u : f32[?]] = Softmax.13[%t] {axis = 1}\n"
                       "[%y : f32[?]] = Transpose.25[%u] {perm = [1, 0]}\noutput [%y]"),
              HasSubstr("Softmax node mixes rows"));
}

TEST(ProveRows, ProductsSumOverOtherAxes) {
  EXPECT_EQ(of_x("MatMul.13[%x, %w]", "const %w : f32[6,1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"), "");
  EXPECT_EQ(of_x("MatMul.13[%w, %x]", "const %w : f32[1,4] = [1.0, 2.0, 3.0, 4.0]"), "");
  EXPECT_EQ(obstacle("input %x : f32[N,4,4]\n[%y : f32[?]] = MatMul.13[%x, %x]\noutput [%y]"), "");
  EXPECT_THAT(obstacle("input %x : f32[N,4]\n[%t : f32[?]] = Transpose.25[%x] {perm = [1, 0]}\n"
                       "[%y : f32[?]] = MatMul.13[%x, %t]\noutput [%y]"),
              HasSubstr("MatMul node mixes rows"));
  EXPECT_THAT(obstacle("input %x : f32[N,4]\n[%t : f32[?]] = Transpose.25[%x] {perm = [1, 0]}\n"
                       "[%y : f32[?]] = MatMul.13[%t, %x]\noutput [%y]"),
              HasSubstr("MatMul node mixes rows"));
  EXPECT_THAT(obstacle("input %x : f32[N,4]\nconst %b : f32[2,1] = [1.0, 2.0]\n"
                       "const %w : f32[4,1] = [1.0, 2.0, 3.0, 4.0]\n"
                       "[%y : f32[?]] = Gemm.13[%x, %w, %b] {alpha = 1.0, beta = 1.0, transA = 0, "
                       "transB = 0}\noutput [%y]"),
              HasSubstr("Gemm node mixes rows"));
}

TEST(ProveRows, NumberOfRowsIsAShapeAndNoValue) {
  const std::string_view head =
      "input %x : f32[N,4,6]\n[%s : i64[?]] = Shape.25[%x] {start = 0}\n"
      "const %i : i64[] = [0]\n";
  // A mean by hand.
  EXPECT_THAT(obstacle(fmt::format("{}[%n : i64[?]] = Gather.13[%s, %i] {{axis = 0}}\n"
                                   "[%f : f32[?]] = Cast.25[%n] {{to = 1, saturate = 1}}\n"
                                   "[%y : f32[?]] = Div.14[%x, %f]\noutput [%y]",
                                   head)),
              AllOf(HasSubstr("Div node mixes rows"), HasSubstr("number of rows")));
  // The length of a row is the same for all.
  EXPECT_EQ(obstacle("input %x : f32[N,S]\n[%s : i64[?]] = Shape.25[%x] {start = 1}\n"
                     "[%f : f32[?]] = Cast.25[%s] {to = 1, saturate = 1}\n"
                     "[%y : f32[?]] = Div.14[%x, %f]\noutput [%y]"),
            "");
  // A state of zeros for each row.
  EXPECT_EQ(
      obstacle(fmt::format(
          "{}[%z : f32[?]] = ConstantOfShape.25[%s] {{value = tensor f32[1] = hex 00000000}}\n"
          "[%y : f32[?]] = Add.14[%x, %z]\noutput [%y]",
          head)),
      "");
  // 0, 1, 2, ...: every place has a number of its own.
  EXPECT_NE(obstacle("input %x : i64[N]\n[%s : i64[?]] = Shape.25[%x] {start = 0}\n"
                     "const %i : i64[] = [0]\nconst %d : i64[] = [1]\n"
                     "[%n : i64[?]] = Gather.13[%s, %i] {axis = 0}\n"
                     "[%r : i64[?]] = Range.27[%i, %n, %d]\n"
                     "[%y : i64[?]] = Add.14[%x, %r]\noutput [%y]"),
            "");
}

TEST(ProveRows, RowsPickFromTablesAndNotFromEachOther) {
  EXPECT_EQ(obstacle("input %x : i64[N,4]\nconst %t : f32[2,1] = [1.0, 2.0]\n"
                     "[%y : f32[?]] = Gather.13[%t, %x] {axis = 0}\noutput [%y]"),
            "");
  EXPECT_EQ(of_x("Gather.13[%x, %i] {axis = 1}", "const %i : i64[2] = [3, 0]"), "");
  EXPECT_THAT(of_x("Gather.13[%x, %i] {axis = 0}", "const %i : i64[] = [0]"),
              HasSubstr("Gather node mixes rows"));
  EXPECT_THAT(obstacle("input %x : f32[N]\ninput %i : i64[N]\n"
                       "[%y : f32[?]] = Gather.13[%x, %i] {axis = 0}\noutput [%y]"),
              HasSubstr("Gather node mixes rows"));
  EXPECT_EQ(obstacle("input %x : f32[N,4]\ninput %i : i64[N,2]\n"
                     "[%y : f32[?]] = GatherElements.13[%x, %i] {axis = 1}\noutput [%y]"),
            "");
}

TEST(ProveRows, ImagesOfABatchStayApart) {
  const std::string_view image =
      "input %x : f32[N,1,4,4]\nconst %w : f32[1,1,1,1] = [2.0]\n"
      "const %c : f32[1] = [1.0]\n";
  EXPECT_EQ(obstacle(fmt::format(
                "{}[%a : f32[?]] = Conv.22[%x, %w] {{group = 1}}\n"
                "[%b : f32[?]] = BatchNormalization.15[%a, %c, %c, %c, %c] {{epsilon = 1e-5, "
                "momentum = 0.9, training_mode = 0}}\n"
                "[%y : f32[?]] = GlobalAveragePool.22[%b]\noutput [%y]",
                image)),
            "");
  EXPECT_THAT(obstacle(fmt::format(
                  "{}[%y : f32[?]] = BatchNormalization.15[%x, %c, %c, %c, %c] {{epsilon = 1e-5, "
                  "momentum = 0.9, training_mode = 1}}\noutput [%y]",
                  image)),
              HasSubstr("BatchNormalization node mixes rows"));
}

TEST(ProveRows, AttentionOverShapesOfTheRunKeepsSequencesApart) {
  // As exporters write it: the shape of q is taken apart and put together again.
  EXPECT_EQ(obstacle(R"(
    input %ids : i64[N,S]
    const %table : f32[2,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    const %zero : i64[] = [0]
    const %one : i64[] = [1]
    const %first : i64[1] = [0]
    const %heads : i64[2] = [2, 2]
    const %width : i64[1] = [4]
    [%x : f32[?]] = Gather.13[%table, %ids] {axis = 0}
    [%shape : i64[?]] = Shape.25[%x] {start = 0}
    [%n : i64[?]] = Gather.13[%shape, %zero] {axis = 0}
    [%s : i64[?]] = Gather.13[%shape, %one] {axis = 0}
    [%n1 : i64[?]] = Unsqueeze.25[%n, %first]
    [%s1 : i64[?]] = Unsqueeze.25[%s, %first]
    [%to : i64[?]] = Concat.13[%n1, %s1, %heads] {axis = 0}
    [%back : i64[?]] = Concat.13[%n1, %s1, %width] {axis = 0}
    [%h : f32[?]] = Reshape.25[%x, %to] {allowzero = 0}
    [%q : f32[?]] = Transpose.25[%h] {perm = [0, 2, 1, 3]}
    [%k : f32[?]] = Transpose.25[%h] {perm = [0, 2, 3, 1]}
    [%scores : f32[?]] = MatMul.13[%q, %k]
    [%places : i64[?]] = Range.27[%zero, %s, %one]
    [%bias : f32[?]] = Cast.25[%places] {to = 1, saturate = 1}
    [%biased : f32[?]] = Add.14[%scores, %bias]
    [%weights : f32[?]] = Softmax.13[%biased] {axis = -1}
    [%mixed : f32[?]] = MatMul.13[%weights, %q]
    [%turned : f32[?]] = Transpose.25[%mixed] {perm = [0, 2, 1, 3]}
    [%y : f32[?]] = Reshape.25[%turned, %back] {allowzero = 0}
    output [%y])"),
            "");
}

TEST(ProveRows, RecurrentNetworksKeepTheirBatchApart) {
  const auto network = [](std::string_view perm) {
    return obstacle(fmt::format(R"(
    input %x : f32[N,3,1]
    const %w : f32[1,1,1] = [1.0]
    [%t : f32[?]] = Transpose.25[%x] {{perm = {}}}
    [%s : f32[?], %h : f32[?]] = RNN.22[%t, %w, %w] {{direction = "forward", hidden_size = 1, layout = 0}}
    [%y : f32[?]] = Transpose.25[%h] {{perm = [1, 0, 2]}}
    output [%y])",
                                perm));
  };
  EXPECT_EQ(network("[1, 0, 2]"), "");
  EXPECT_THAT(network("[0, 1, 2]"), HasSubstr("RNN node mixes rows"));
}

TEST(ProveRows, UnknownOperatorsAreNamed) {
  EXPECT_THAT(obstacle("input %x : f32[N]\n[%y : i64[?]] = NonZero.13[%x]\noutput [%y]"),
              HasSubstr("NonZero node is not known to keep rows apart"));
  EXPECT_THAT(obstacle("input %x : f32[N]\n[%y : f32[?]] = RandomNormalLike.22[%x] {mean = 0.0, "
                       "scale = 1.0}\noutput [%y]"),
              HasSubstr("random numbers"));
}

TEST(ProveRows, InputsAndOutputsNeedTheSameRows) {
  EXPECT_THAT(obstacle("input %x : f32[N]\ninput %z : f32[M]\n[%y : f32[?]] = Relu.14[%x]\n"
                       "output [%y]"),
              HasSubstr("input \"z\""));
  EXPECT_THAT(obstacle("input %x : f32[N]\nconst %y : f32[2] = [1.0, 2.0]\noutput [%y]"),
              HasSubstr("output \"y\""));
  // The same number in another axis: a row is as long as there are rows.
  EXPECT_NE(obstacle("input %x : f32[N,N]\n[%y : f32[?]] = Relu.14[%x]\noutput [%y]"), "");
  // Inference gives such names to unknown dimensions.
  EXPECT_NE(obstacle("input %x : f32[N,_u3_0]\n[%y : f32[?]] = Relu.14[%x]\noutput [%y]"), "");
}

TEST(ProveRows, FixedRowsAreFollowedByPlace) {
  const std::string_view reshaped =
      "input %x : f32[4,4]\nconst %s : i64[3] = [4, 2, 2]\n"
      "[%a : f32[?]] = Reshape.25[%x, %s] {allowzero = 0}\n";
  EXPECT_EQ(
      obstacle(fmt::format("{}[%y : f32[?]] = Softmax.13[%a] {{axis = 2}}\noutput [%y]", reshaped)),
      "");
  // All dimensions are 4: only the place tells that these are no rows.
  EXPECT_THAT(obstacle("input %x : f32[4,4]\n[%y : f32[?]] = Transpose.25[%x] {perm = [1, 0]}\n"
                       "output [%y]"),
              HasSubstr("output \"y\""));
}

TEST(ProveRows, FusedBodiesAreBroadcast) {
  const auto fused = [](std::string_view constant) {
    return fmt::format(
        "subgraph @0 \"main\" {{\n  input %x : f32[N,2]\n  const %c : {}\n"
        "  [%y : f32[N,2]] = sluice::Elementwise.1[] body @1[%x, %c]\n  output [%y]\n}}\n"
        "subgraph @1 \"body\" {{\n  input %a : f32[?]\n  input %b : f32[?]\n"
        "  [%r : f32[?]] = Add.14[%a, %b]\n  output [%r]\n}}\n",
        constant);
  };
  const auto plain = ir::parse_graph(fused("f32[2] = [1.0, 2.0]"));
  ASSERT_TRUE(plain.is_ok()) << plain.status().to_string();
  EXPECT_TRUE(prove_rows(*plain).is_ok()) << prove_rows(*plain).to_string();
  const auto mixed = ir::parse_graph(fused("f32[2,1] = [1.0, 2.0]"));
  ASSERT_TRUE(mixed.is_ok());
  EXPECT_THAT(std::string(prove_rows(*mixed).message()), HasSubstr("Elementwise node mixes rows"));
}

}  // namespace
}  // namespace sluice::ops
