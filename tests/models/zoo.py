"""Real models, which build without a download: random weights, one small example each.

    python zoo.py
    python zoo.py LIBRARY MODEL FOLDER [FUNCTION ...]

lists them, and takes one through these functions, or all; FOLDER/found.jsonl has a line for each as
soon as it is there. A process of its own, because a model may end it. The small ones beside this
file, one for each structure of inputs and outputs, are here, too.
"""

import json
import os
import sys
import time
from copy import deepcopy
from importlib import import_module
from pathlib import Path

import msgspec
from checks import Wrong, check_explain, check_load, check_native, compared, notes

from book.measured import Comparison
from d2lhybrid import backends, save, verify
from d2lhybrid.core.arguments import call
from d2lhybrid.errors import D2LHybridError
from d2lhybrid.experiments.comparison import MIME

SECONDS = 3  # of a comparison's rounds
SIZE = 64  # pixels of an image's side
TOKENS, VOCABULARY, WIDTH = 16, 1000, 128  # of a text, of a language, of a language model


def _torchvision(name):
    import torch
    import torchvision

    # Segmentation models would download the weights of a backbone.
    options = {"weights_backbone": None} if name.startswith(("lraspp", "deeplab")) else {}
    made = torchvision.models.get_model(name, weights=None, **options)
    frames = [8] if name == "r3d_18" else []  # of a video
    return call(made.eval(), torch.randn(1, 3, *frames, SIZE, SIZE))


def _timm(name):
    import timm
    import torch

    sized = {"img_size": SIZE} if name.startswith(("vit", "mixer")) else {}
    return call(timm.create_model(name, **sized).eval(), torch.randn(1, 3, SIZE, SIZE))


def _transformers(name):
    import torch
    import transformers as library

    torch.manual_seed(0)
    ids = torch.randint(VOCABULARY, (1, TOKENS))
    mask, image = torch.ones_like(ids), torch.randn(1, 3, SIZE, SIZE)
    sound = torch.arange(4000.0).sin()  # draws no random numbers: the weights come behind it
    asked = {
        "BERT": call("BertModel", ids, mask),
        "BERT in bfloat16": call("BertModel", ids, mask),
        "DistilBERT": call("DistilBertForSequenceClassification", ids, attention_mask=mask),
        "DeBERTa": call("DebertaV2Model", ids, mask),
        "GPT-2": call("GPT2LMHeadModel", ids, attention_mask=mask, use_cache=False),
        "GPT-2 with its cache": call("GPT2LMHeadModel", ids, attention_mask=mask, use_cache=True),
        "Llama": call("LlamaForCausalLM", ids, use_cache=False),
        "Mixtral": call("MixtralForCausalLM", ids, use_cache=False),
        "Mamba": call("MambaModel", ids, use_cache=False),
        "T5": call("T5ForConditionalGeneration", input_ids=ids, decoder_input_ids=ids,
                   use_cache=False),
        "ViT": call("ViTForImageClassification", image),
        "Swin": call("SwinModel", image),
        "SegFormer": call("SegformerForSemanticSegmentation", image),
        "YOLOS": call("YolosForObjectDetection", image),
        "CLIP": call("CLIPModel", input_ids=ids, pixel_values=image, attention_mask=mask),
        "Whisper": call("WhisperForConditionalGeneration", sound[:2560].reshape(1, 20, 128),
                        decoder_input_ids=ids, use_cache=False),
        "Wav2Vec2": call("Wav2Vec2Model", sound[None]),
    }[name]  # fmt: skip
    words = {"vocab_size": VOCABULARY}
    layers = {"hidden_size": WIDTH, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "intermediate_size": 2 * WIDTH}
    text, picture = words | layers | heads, layers | heads | {"image_size": SIZE, "patch_size": 16}
    options = {
        "DistilBertForSequenceClassification": words | {
            "dim": WIDTH, "hidden_dim": 2 * WIDTH, "n_layers": 2, "n_heads": 4,
        },
        "GPT2LMHeadModel": words | {"n_embd": WIDTH, "n_layer": 2, "n_head": 4, "n_positions": 64},
        "LlamaForCausalLM": text | {"max_position_embeddings": 64},
        "MixtralForCausalLM": text | {"num_key_value_heads": 2, "num_local_experts": 4},
        "MambaModel": words | layers,
        "T5ForConditionalGeneration": words | {
            "d_model": WIDTH, "d_kv": 32, "d_ff": 2 * WIDTH, "num_layers": 2, "num_heads": 4,
        },
        "ViTForImageClassification": picture,
        "SwinModel": {
            "image_size": SIZE, "embed_dim": 24, "depths": [1, 1], "num_heads": [2, 4],
            "window_size": 4,
        },
        "SegformerForSemanticSegmentation": {},
        "YolosForObjectDetection": picture | {
            "image_size": [SIZE, SIZE], "num_detection_tokens": 10,
        },
        "CLIPModel": {"text_config": text, "vision_config": picture},
        "WhisperForConditionalGeneration": words | {
            "d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 2,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "encoder_ffn_dim": 2 * WIDTH, "decoder_ffn_dim": 2 * WIDTH,
            "max_source_positions": 64, "num_mel_bins": 20, "pad_token_id": 0, "bos_token_id": 1,
            "eos_token_id": 2, "decoder_start_token_id": 1,
        },
        "Wav2Vec2Model": text | {
            "conv_dim": (32, 32), "conv_kernel": (10, 3), "conv_stride": (5, 2),
        },
    }.get(asked.function, text)  # fmt: skip
    kind = getattr(library, asked.function)
    model = kind(kind.config_class(**options)).eval()
    return call(model.bfloat16() if "bfloat16" in name else model, *asked.args, **asked.kwargs)


def _diffusers(name):
    import diffusers
    import torch

    if name == "UNet2DModel":
        model = diffusers.UNet2DModel(
            sample_size=16, block_out_channels=(32, 64), layers_per_block=1,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        )  # fmt: skip
        return call(model.eval(), torch.randn(1, 3, 16, 16), torch.tensor(10))
    return call(diffusers.AutoencoderKL(sample_size=16).eval(), torch.randn(1, 3, 16, 16))


def _torch_layers():
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(2, 5, 16)
    padded = torch.arange(5).expand(2, 5) >= torch.tensor([[3], [5]])
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    linear = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    made = {
        "GRU": call(nn.GRU(16, 8, batch_first=True), x),
        "LSTM in both directions": call(nn.LSTM(16, 8, batch_first=True, bidirectional=True), x),
        "TransformerEncoder, padded": call(
            nn.TransformerEncoder(encoder, 2), x, src_key_padding_mask=padded
        ),
        "float16": call(deepcopy(linear).half(), x.half()),
        "int8": call(torch.ao.quantization.quantize_dynamic(linear.eval(), {nn.Linear}), x),
    }
    return {name: call(c.function.eval(), *c.args, **c.kwargs) for name, c in made.items()}


def _keras_layers():
    import tensorflow as tf
    from keras import Sequential, layers

    def stack(given, *made):
        return call(Sequential([layers.Input(given.shape[1:]), *made]), given)

    tf.keras.utils.set_random_seed(0)
    image, x = tf.random.normal((1, 32, 32, 3)), tf.random.normal((2, 5, 4))
    return {
        "Normalization": stack(x, layers.Normalization(mean=1.0, variance=2.0), layers.Dense(3)),
        "Discretization": stack(x, layers.Discretization([-1.0, 0.0, 1.0])),
        "images prepared": stack(
            image, layers.Resizing(16, 16), layers.Rescaling(1 / 255), layers.RandomFlip()
        ),
        "GRU in both directions": stack(x, layers.Bidirectional(layers.GRU(3))),
        "bfloat16": stack(x, layers.Dense(3, dtype="mixed_bfloat16"), layers.LayerNormalization()),
        "attention": call(layers.MultiHeadAttention(2, 4), x, x),
    }


def _flax_linen():
    import jax
    from flax import linen

    x = jax.random.normal(jax.random.key(0), (2, 5, 4))
    models = {
        "Dense": linen.Sequential([linen.Dense(8), linen.relu, linen.Dense(3)]),
        "attention": linen.MultiHeadDotProductAttention(num_heads=2),
        "LSTM": linen.RNN(linen.LSTMCell(3)),
        "BatchNorm": linen.BatchNorm(use_running_average=True),
    }
    key = jax.random.key(1)
    return {name: call(one.apply, one.init(key, x), x) for name, one in models.items()}


def _equinox():
    import equinox
    import jax

    key = jax.random.key(0)
    x = jax.random.normal(key, (4,))
    return {
        "MLP": call(equinox.nn.MLP(4, 2, 8, 2, key=key), x),
        "GRUCell": call(equinox.nn.GRUCell(4, 3, key=key), x, jax.numpy.ones(3)),
    }


def _haiku():
    import haiku
    import jax

    def of(function, x):
        model = haiku.without_apply_rng(haiku.transform(function))
        return call(model.apply, model.init(jax.random.key(1), x), x)

    x = jax.random.normal(jax.random.key(0), (2, 4))
    return {
        "MLP": of(lambda x: haiku.nets.MLP([8, 3])(x), x),
        "Conv": of(lambda x: haiku.Conv1D(3, 2)(x), x[..., None]),
    }


def _keras(name):
    import keras
    import tensorflow as tf

    tf.keras.utils.set_random_seed(0)
    make = getattr(keras.applications, name)
    model = make(weights=None, input_shape=(SIZE, SIZE, 3), classes=10)
    return call(model, tf.random.normal((1, SIZE, SIZE, 3)))


def _gluon(name):
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    net = mx.gluon.model_zoo.vision.get_model(name)
    net.initialize(mx.init.Xavier())
    size = SIZE if name.startswith(("resnet", "mobilenet")) else 224  # others pool a fixed size
    return call(net, mx.nd.random.normal(shape=(1, 3, size, size)))


def _gluon_rnn():
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    rnn = mx.gluon.rnn
    models = {
        "GRU": rnn.GRU(3, layout="NTC"),
        "LSTM in both directions": rnn.LSTM(3, layout="NTC", bidirectional=True),
        "RNN of two layers": rnn.RNN(3, 2, layout="NTC"),
    }
    for net in models.values():
        net.initialize()
    x = mx.nd.random.normal(shape=(2, 5, 4))
    return {name: call(net, x) for name, net in models.items()}


# Framework, from a name to the model with its example, and the names; of what is quickly built,
# a function that gives them all.
LIBRARIES = {
    "torchvision": (
        "torch", _torchvision,
        ("resnet18", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1",
         "shufflenet_v2_x0_5", "lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large",
         "r3d_18"),
    ),
    "timm": (
        "torch", _timm,
        ("vit_tiny_patch16_224", "convnext_atto", "mixer_s32_224", "mobilevit_xxs", "resnet10t"),
    ),
    "transformers": (
        "torch", _transformers,
        ("BERT", "BERT in bfloat16", "DistilBERT", "DeBERTa",
         "GPT-2", "GPT-2 with its cache", "Llama", "Mixtral", "Mamba", "T5", "ViT", "Swin",
         "SegFormer", "YOLOS", "CLIP", "Whisper", "Wav2Vec2"),
    ),
    "diffusers": ("torch", _diffusers, ("UNet2DModel", "AutoencoderKL")),
    "torch.nn": ("torch", _torch_layers, ()),
    "keras.applications": (
        "tensorflow", _keras,
        ("MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "ConvNeXtTiny"),
    ),
    "keras.layers": ("tensorflow", _keras_layers, ()),
    "flax.linen": ("jax", _flax_linen, ()),
    "equinox": ("jax", _equinox, ()),
    "haiku": ("jax", _haiku, ()),
    "gluon.model_zoo": (
        "mxnet", _gluon,
        ("resnet18_v2", "mobilenet0.25", "mobilenetv2_0.25", "squeezenet1.1", "densenet121"),
    ),
    "gluon.rnn": ("mxnet", _gluon_rnn, ()),
    **{
        f"structures, {one.display}": (
            one.name, lambda name=one.name: import_module(f"{name}_models").models(), (),
        )
        for one in backends.known()
    },
}  # fmt: skip


# What runs natively without a compiler's minutes, where that is not what is saved by default.
NATIVE = {"torch": "onnx"}


def outcome(check):
    """ "works", "refused", "wrong" or "error", and what was said."""
    try:
        return {"outcome": "works", "said": check()}
    except D2LHybridError as error:
        return {"outcome": "refused", "said": str(error)}
    except Wrong as error:
        return {"outcome": "wrong", "said": str(error)}
    except Exception as error:
        return {"outcome": "error", "said": f"{type(error).__name__}: {error}"}


def speed(found):
    """The fastest compiled way of a comparison, its ratio and verdict; empty if there is none."""
    best = msgspec.convert(found._repr_mimebundle_()[MIME], Comparison).best
    return {"way": best.label, "ratio": best.ratio, "verdict": best.verdict} if best else {}


def main(library, name, folder, functions):
    """Go through them in order; what was not saved is not loaded."""
    (framework, build, names), saved = LIBRARIES[library], folder / "saved"
    os.environ["D2LHYBRID_DATA"] = str(folder / "user")
    model = build(name) if names else build()[name]
    gain = {}

    def check_compare():
        found = compared(model, framework, SECONDS)
        gain.update(speed(found))
        return notes(found)

    def check_save(folder, format=None):
        save(model, folder, format=format)
        return ""

    def check_verify():
        if not (found := verify(saved)).ok:
            raise Wrong(str(found))
        return ""

    def check_its_program():
        if framework in NATIVE:
            check_save(folder / "native", NATIVE[framework])
        return check_native(folder / "native" if framework in NATIVE else saved)

    checks = {
        "compare": check_compare,
        "explain": lambda: check_explain(model),
        "save": lambda: check_save(saved),
        "load": lambda: check_load([saved], folder / "user"),
        "verify": check_verify,
        "run_native": check_its_program,
    }
    for function in functions or checks:
        start = time.perf_counter()
        first = function in ("compare", "explain", "save")
        found = {"outcome": "not saved", "said": ""}
        if first or saved.exists() or (function == "run_native" and framework in NATIVE):
            found = outcome(checks[function])
        found |= gain if function == "compare" else {}
        found |= {"function": function, "seconds": f"{time.perf_counter() - start:.1f}"}
        with (folder / "found.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    else:
        found = {library: names or [*build()] for library, (_of, build, names) in LIBRARIES.items()}
        print(json.dumps([(library, name) for library in found for name in found[library]]))
