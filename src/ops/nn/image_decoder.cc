// ImageDecoder: pixels of an image file.
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/upgrade.h"

namespace sluice::ops {
namespace {

Status check_decoder(const InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "pixel_format", {"RGB", "BGR", "Grayscale"}));
  const ir::Shape* stream = context.shape(0);
  if (stream != nullptr && stream->size() != 1) {
    return context.error("the stream must be a vector of bytes, not {}",
                         ir::shape_to_string(*stream));
  }
  return ok_status();
}

Status infer_size(InferenceContext& context) {
  SLUICE_TRY(check_decoder(context));
  context.set_output(0, ir::ElementType::kI64, ir::Shape{3});
  return ok_status();
}

Status infer_pixels(InferenceContext& context) {
  SLUICE_TRY(check_decoder(context));
  const Values* size = context.values(1);
  ir::Shape shape;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_known = size != nullptr && size->size() == 3;
    shape.push_back(is_known ? (*size)[i] : context.unknown_dim());
  }
  context.set_output(0, ir::ElementType::kU8, std::move(shape));
  return ok_status();
}

/// The size of the image is found first: it is the shape of the result.
Status lower_decoder(ir::Subgraph& subgraph, ir::Operation& operation) {
  const auto format = operation.attributes.get_or<std::string>("pixel_format", "RGB");
  operation.attributes.set("pixel_format", format);
  return measure_first(subgraph, operation, "ImageSize", "ImagePixels");
}

}  // namespace

std::vector<OpSchema> image_decoder_ops() {
  const OperandSpec stream = {.name = "encoded_stream", .types = {ir::ElementType::kU8}};
  const std::vector<OperandSpec> image = {{.name = "image", .types = {ir::ElementType::kU8}}};
  const std::vector<AttributeSpec> attributes = {{"pixel_format", std::string("RGB")}};
  return {
      {.name = "ImageDecoder",
       .versions = {20},
       .doc = "pixels [height, width, channels] of an image file",
       .inputs = {stream},
       .outputs = image,
       .attributes = attributes,
       .infer = infer_same_as_input,
       .traits = kLowered,
       .upgrade = lower_decoder},
      {.domain = "sluice",
       .name = "ImageSize",
       .versions = {1},
       .doc = "height, width and channels of an image file; zeros if it cannot be decoded",
       .inputs = {stream},
       .outputs = {{.name = "size", .types = kI64Only}},
       .attributes = attributes,
       .infer = infer_size},
      {.domain = "sluice",
       .name = "ImagePixels",
       .versions = {1},
       .doc = "ImageDecoder's result for a known size",
       .inputs = {stream, {.name = "size", .types = kI64Only, .is_shape_value = true}},
       .outputs = image,
       .attributes = attributes,
       .infer = infer_pixels},
  };
}

}  // namespace sluice::ops
