"""Real models, which build without a download: random weights, one small example each.

    python zoo.py
    python zoo.py LIBRARY MODEL FOLDER

lists them, and takes one through every function; FOLDER/found.jsonl has a line for each as soon as
it is there. A process of its own, because a model may end it. The small ones beside this file, one
for each structure of inputs and outputs, are here, too.
"""

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from checks import Wrong, check_compare, check_explain, check_load, check_native

from d2lhybrid import frameworks, save, verify
from d2lhybrid.calls import call
from d2lhybrid.errors import D2LHybridError

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
    mask = torch.ones_like(ids)
    image = torch.randn(1, 3, SIZE, SIZE)
    text = {
        "vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 2 * WIDTH,
    }  # fmt: skip
    picture = {**text, "image_size": SIZE, "patch_size": 16}
    del picture["vocab_size"]
    small = {"vocab_size": VOCABULARY, "d_model": WIDTH}
    match name:
        case "BERT" | "BERT in bfloat16":
            model = library.BertModel(library.BertConfig(**text)).eval()
            return call(model.bfloat16() if "bfloat16" in name else model, ids, mask)
        case "DeBERTa":
            return call(library.DebertaV2Model(library.DebertaV2Config(**text)).eval(), ids, mask)
        case "Mamba":
            config = library.MambaConfig(
                vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=2
            )
            return call(library.MambaModel(config).eval(), ids, use_cache=False)
        case "Mixtral":
            config = library.MixtralConfig(**text, num_key_value_heads=2, num_local_experts=4)
            return call(library.MixtralForCausalLM(config).eval(), ids, use_cache=False)
        case "Wav2Vec2":
            config = library.Wav2Vec2Config(
                **text, conv_dim=(32, 32), conv_kernel=(10, 3), conv_stride=(5, 2)
            )
            return call(library.Wav2Vec2Model(config).eval(), torch.randn(1, 4000))
        case "Swin":
            config = library.SwinConfig(
                image_size=SIZE, embed_dim=24, depths=[1, 1], num_heads=[2, 4], window_size=4
            )
            return call(library.SwinModel(config).eval(), image)
        case "YOLOS":
            config = library.YolosConfig(
                **{**picture, "image_size": [SIZE, SIZE]}, num_detection_tokens=10
            )
            return call(library.YolosForObjectDetection(config).eval(), image)
        case "SegFormer":
            model = library.SegformerForSemanticSegmentation(library.SegformerConfig())
            return call(model.eval(), image)
        case "DistilBERT":
            config = library.DistilBertConfig(
                vocab_size=VOCABULARY, dim=WIDTH, hidden_dim=2 * WIDTH, n_layers=2, n_heads=4
            )
            model = library.DistilBertForSequenceClassification(config)
            return call(model.eval(), ids, attention_mask=mask)
        case "GPT-2" | "GPT-2 with its cache":
            config = library.GPT2Config(
                vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=2, n_head=4, n_positions=64
            )
            keeps = {"use_cache": "cache" in name}
            return call(library.GPT2LMHeadModel(config).eval(), ids, attention_mask=mask, **keeps)
        case "Llama":
            config = library.LlamaConfig(**text, max_position_embeddings=64)
            return call(library.LlamaForCausalLM(config).eval(), ids, use_cache=False)
        case "T5":
            config = library.T5Config(**small, d_kv=32, d_ff=2 * WIDTH, num_layers=2, num_heads=4)
            model = library.T5ForConditionalGeneration(config).eval()
            return call(model, input_ids=ids, decoder_input_ids=ids, use_cache=False)
        case "ViT":
            config = library.ViTConfig(**picture)
            return call(library.ViTForImageClassification(config).eval(), image)
        case "CLIP":
            config = library.CLIPConfig(text_config=text, vision_config=picture)
            model = library.CLIPModel(config).eval()
            return call(model, input_ids=ids, pixel_values=image, attention_mask=mask)
        case "Whisper":
            config = library.WhisperConfig(
                **small, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                decoder_attention_heads=4, encoder_ffn_dim=2 * WIDTH, decoder_ffn_dim=2 * WIDTH,
                max_source_positions=64, num_mel_bins=20, pad_token_id=0, bos_token_id=1,
                eos_token_id=2, decoder_start_token_id=1,
            )  # fmt: skip
            model = library.WhisperForConditionalGeneration(config).eval()
            sound = torch.randn(1, 20, 128)
            return call(model, sound, decoder_input_ids=ids, use_cache=False)
    raise KeyError(name)


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


def _torch_layers(name):
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(2, 5, 16)
    padded = torch.arange(5).expand(2, 5) >= torch.tensor([[3], [5]])
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    linear = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    model = {
        "GRU": nn.GRU(16, 8, batch_first=True),
        "LSTM in both directions": nn.LSTM(16, 8, batch_first=True, bidirectional=True),
        "TransformerEncoder, padded": nn.TransformerEncoder(encoder, 2),
        "float16": linear.half(),
        "int8": nn.Sequential(),
    }[name].eval()
    if name == "int8":
        linear = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
        model = torch.ao.quantization.quantize_dynamic(linear, {nn.Linear})
    more = {"src_key_padding_mask": padded} if "padded" in name else {}
    return call(model, x.half() if name == "float16" else x, **more)


def _keras_layers(name):
    import tensorflow as tf
    from keras import Sequential, layers

    tf.keras.utils.set_random_seed(0)
    image, x = tf.random.normal((1, 32, 32, 3)), tf.random.normal((2, 5, 4))
    made, given = {
        "Normalization": ([layers.Normalization(mean=1.0, variance=2.0), layers.Dense(3)], x),
        "Discretization": ([layers.Discretization([-1.0, 0.0, 1.0])], x),
        "images prepared": (
            [layers.Resizing(16, 16), layers.Rescaling(1 / 255), layers.RandomFlip()], image,
        ),
        "GRU in both directions": ([layers.Bidirectional(layers.GRU(3))], x),
        "bfloat16": ([layers.Dense(3, dtype="mixed_bfloat16"), layers.LayerNormalization()], x),
        "attention": (None, x),
    }[name]  # fmt: skip
    if made is None:
        return call(layers.MultiHeadAttention(2, 4), x, x)
    return call(Sequential([layers.Input(given.shape[1:]), *made]), given)


def _flax_linen(name):
    import jax
    from flax import linen

    x = jax.random.normal(jax.random.key(0), (2, 5, 4))
    model = {
        "Dense": linen.Sequential([linen.Dense(8), linen.relu, linen.Dense(3)]),
        "attention": linen.MultiHeadDotProductAttention(num_heads=2),
        "LSTM": linen.RNN(linen.LSTMCell(3)),
        "BatchNorm": linen.BatchNorm(use_running_average=True),
    }[name]
    return call(model.apply, model.init(jax.random.key(1), x), x)


def _equinox(name):
    import equinox
    import jax

    key = jax.random.key(0)
    x = jax.random.normal(key, (4,))
    if name == "GRUCell":
        return call(equinox.nn.GRUCell(4, 3, key=key), x, jax.numpy.ones(3))
    return call(equinox.nn.MLP(4, 2, 8, 2, key=key), x)


def _haiku(name):
    import haiku
    import jax

    x = jax.random.normal(jax.random.key(0), (2, 4))
    made = {"MLP": lambda x: haiku.nets.MLP([8, 3])(x), "Conv": lambda x: haiku.Conv1D(3, 2)(x)}
    model = haiku.without_apply_rng(haiku.transform(made[name]))
    x = x[..., None] if name == "Conv" else x
    return call(model.apply, model.init(jax.random.key(1), x), x)


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


def _gluon_rnn(name):
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    rnn = mx.gluon.rnn
    net = {
        "GRU": rnn.GRU(3, layout="NTC"),
        "LSTM in both directions": rnn.LSTM(3, layout="NTC", bidirectional=True),
        "RNN of two layers": rnn.RNN(3, 2, layout="NTC"),
    }[name]
    net.initialize()
    return call(net, mx.nd.random.normal(shape=(2, 5, 4)))


def structures(framework):
    """The small models of ours."""
    return import_module(f"{framework}_models").models()


# Framework, from a name to the model with its example, and the names.
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
    "torch.nn": (
        "torch", _torch_layers,
        ("GRU", "LSTM in both directions", "TransformerEncoder, padded", "float16", "int8"),
    ),
    "keras.applications": (
        "tensorflow", _keras,
        ("MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "ConvNeXtTiny"),
    ),
    "keras.layers": (
        "tensorflow", _keras_layers,
        ("Normalization", "Discretization", "images prepared", "GRU in both directions",
         "bfloat16", "attention"),
    ),
    "flax.linen": ("jax", _flax_linen, ("Dense", "attention", "LSTM", "BatchNorm")),
    "equinox": ("jax", _equinox, ("MLP", "GRUCell")),
    "haiku": ("jax", _haiku, ("MLP", "Conv")),
    "gluon.model_zoo": (
        "mxnet", _gluon,
        ("resnet18_v2", "mobilenet0.25", "mobilenetv2_0.25", "squeezenet1.1", "densenet121"),
    ),
    "gluon.rnn": (
        "mxnet", _gluon_rnn, ("GRU", "LSTM in both directions", "RNN of two layers"),
    ),
    **{
        f"structures, {one.display}": (
            one.name, lambda name, framework=one.name: structures(framework)[name], (),
        )
        for one in frameworks.known()
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


def main(library, name, folder):
    """Go through them in order; what was not saved is not loaded."""
    (framework, build, _models), saved = LIBRARIES[library], folder / "saved"
    os.environ["D2LHYBRID_DATA"] = str(folder / "user")
    model = build(name)

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
        "compare": lambda: check_compare(model, framework),
        "explain": lambda: check_explain(model),
        "save": lambda: check_save(saved),
        "load": lambda: check_load([saved], folder / "user"),
        "verify": check_verify,
        "run_native": check_its_program,
    }
    for function, check in checks.items():
        start = time.perf_counter()
        first = function in ("compare", "explain", "save")
        found = {"outcome": "not saved", "said": ""}
        if first or saved.exists() or (function == "run_native" and framework in NATIVE):
            found = outcome(check)
        found |= {"function": function, "seconds": f"{time.perf_counter() - start:.1f}"}
        with (folder / "found.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        listed = []
        for library, (framework, _build, names) in LIBRARIES.items():
            listed += [(library, name) for name in names or structures(framework)]
        print(json.dumps(listed))
