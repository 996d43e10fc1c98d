"""Networks of torchvision, timm and transformers with random weights, small: name to a module and example inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import timm
import torch
import torchvision
import transformers
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...]]

_VISION: dict[str, tuple[int, dict[str, Any]]] = {
    "googlenet": (32, {"init_weights": False, "aux_logits": False}),
    "mnasnet0_5": (32, {}),
    "mobilenet_v2": (32, {"width_mult": 0.35}),
    "mobilenet_v3_small": (32, {}),
    "regnet_x_400mf": (32, {}),
    "resnet18": (32, {}),
    "shufflenet_v2_x0_5": (32, {}),
    "squeezenet1_1": (64, {}),
}

_TIMM: dict[str, tuple[int, dict[str, Any]]] = {
    "convnext_atto": (32, {"depths": (1, 1, 2, 1), "dims": (8, 16, 24, 32)}),
    "efficientnet_b0": (32, {}),
    "ghostnet_050": (32, {}),
    "pvt_v2_b0": (64, {"depths": (1, 1, 1, 1)}),
    "repvgg_a0": (32, {}),
    "vit_tiny_patch16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 48}),
    "swin_tiny_patch4_window7_224": (56, {"img_size": 56, "depths": (2, 2), "num_heads": (2, 4), "embed_dim": 24}),
    "xcit_nano_12_p16_224": (64, {"img_size": 64, "depth": 2, "embed_dim": 32}),
}

_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
          "vocab_size": 99, "max_position_embeddings": 64}
_GROUPED = {**_SMALL, "num_key_value_heads": 2, "use_cache": False, "head_dim": 8}

_TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "albert": ("AlbertModel", {**_SMALL, "embedding_size": 16}),
    "bert": ("BertModel", _SMALL),
    "bloom": ("BloomModel", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False}),
    "distilbert": ("DistilBertModel", {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}),
    "electra": ("ElectraModel", {**_SMALL, "embedding_size": 16}),
    "gemma": ("GemmaModel", _GROUPED),
    "gpt2": ("GPT2Model", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "use_cache": False}),
    "gpt_neox": ("GPTNeoXModel", {**_SMALL, "use_cache": False}),
    "llama": ("LlamaModel", _GROUPED),
    "mixtral": ("MixtralModel", {**_GROUPED, "num_local_experts": 4}),
    "opt": ("OPTModel", {"vocab_size": 99, "hidden_size": 32, "word_embed_proj_dim": 32, "num_hidden_layers": 2,
                         "num_attention_heads": 4, "ffn_dim": 48, "use_cache": False}),
    "qwen3": ("Qwen3Model", _GROUPED),
    "qwen3_moe": ("Qwen3MoeModel", {**_GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}),
}


def _image(size: int) -> tuple[torch.Tensor]:
    return (torch.rand(2, 3, size, size),)


def _vision(name: str) -> Made:
    size, options = _VISION[name]
    return torchvision.models.get_model(name, num_classes=10, **options), _image(size)


def _timm(name: str) -> Made:
    size, options = _TIMM[name]
    return timm.create_model(name, pretrained=False, num_classes=10, **options), _image(size)


def _transformer(name: str) -> Made:
    model, options = _TRANSFORMERS[name]
    kind = getattr(transformers, model)
    return kind(kind.config_class(**options)), (torch.randint(0, 99, (2, 7)),)


def _whisper_encoder() -> Made:
    config = transformers.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48,
                                        decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=48,
                                        max_source_positions=20, num_mel_bins=8)
    return transformers.WhisperModel(config).encoder, (torch.rand(1, 8, 40),)


def _wav2vec2() -> Made:
    config = transformers.Wav2Vec2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                         intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 2),
                                         conv_kernel=(10, 3), num_conv_pos_embeddings=8,
                                         num_conv_pos_embedding_groups=4)
    return transformers.Wav2Vec2Model(config), (torch.rand(1, 400),)


def _t5_encoder() -> Made:
    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    return transformers.T5EncoderModel(config), (torch.randint(0, 99, (2, 7)),)


def _segmentation() -> Made:
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=4)
    return model, _image(64)


def _vision_transformer() -> Made:
    return torchvision.models.VisionTransformer(32, 16, 2, 4, 32, 48, num_classes=10), _image(32)


def _densenet() -> Made:
    return torchvision.models.DenseNet(8, (2, 2, 2, 2), 16, num_classes=10), _image(32)


def _vgg() -> Made:
    layers = torchvision.models.vgg.make_layers([8, "M", 16, "M"], batch_norm=True)
    return layers, _image(32)


def _conv_mixer() -> Made:
    return timm.models.convmixer.ConvMixer(32, 3, kernel_size=5, patch_size=4, num_classes=10), _image(32)


def _mixer() -> Made:
    return timm.models.mlp_mixer.MlpMixer(10, 64, num_blocks=2, embed_dim=32), _image(64)


def _pool_former() -> Made:
    return timm.models.metaformer.MetaFormer(depths=(1, 1, 1, 1), dims=(16, 16, 24, 32), num_classes=10), _image(32)


def _video() -> Made:
    return torchvision.models.video.r3d_18(num_classes=10), (torch.rand(1, 3, 4, 32, 32),)


def _made_by(make: Callable[[str], Made], name: str) -> Callable[[], Made]:
    return lambda: make(name)


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    **{f"torchvision/{name}": _made_by(_vision, name) for name in _VISION},
    "torchvision/densenet": _densenet,
    "torchvision/lraspp": _segmentation,
    "torchvision/vgg_bn": _vgg,
    "torchvision/vision_transformer": _vision_transformer,
    "torchvision/r3d_18": _video,
    **{f"timm/{name}": _made_by(_timm, name) for name in _TIMM},
    "timm/convmixer": _conv_mixer,
    "timm/mixer": _mixer,
    "timm/poolformer": _pool_former,
    **{f"transformers/{name}": _made_by(_transformer, name) for name in _TRANSFORMERS},
    "transformers/t5_encoder": _t5_encoder,
    "transformers/wav2vec2": _wav2vec2,
    "transformers/whisper_encoder": _whisper_encoder,
}
