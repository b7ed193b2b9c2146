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

    # Segmentation models would download the weights of a backbone.
    options = {"weights_backbone": None} if name.startswith("lraspp") else {}
    made = import_torchvision().models.get_model(name, weights=None, **options)
    return call(made.eval(), torch.randn(1, 3, SIZE, SIZE))


def import_torchvision():
    """torchvision, also where its wheel was built for another build of PyTorch.

    Its own operators are missing then, and it asks for two while it is imported. No model of ours
    uses them.
    """
    import torch

    try:
        return import_module("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            arguments = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            torch.library.define(f"torchvision::{name}", arguments)
        return import_module("torchvision")


def _timm(name):
    import torch

    import_torchvision()
    import timm

    sized = {"img_size": SIZE} if name.startswith(("vit", "mixer")) else {}
    return call(timm.create_model(name, **sized).eval(), torch.randn(1, 3, SIZE, SIZE))


def _transformers(name):
    import torch

    import_torchvision()
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
        case "BERT":
            return call(library.BertModel(library.BertConfig(**text)).eval(), ids, mask)
        case "DistilBERT":
            config = library.DistilBertConfig(
                vocab_size=VOCABULARY, dim=WIDTH, hidden_dim=2 * WIDTH, n_layers=2, n_heads=4
            )
            model = library.DistilBertForSequenceClassification(config)
            return call(model.eval(), ids, attention_mask=mask)
        case "GPT-2":
            config = library.GPT2Config(
                vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=2, n_head=4, n_positions=64
            )
            return call(library.GPT2LMHeadModel(config).eval(), ids, attention_mask=mask)
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


def structures(framework):
    """The small models of ours."""
    return import_module(f"{framework}_models").models()


# Framework, from a name to the model with its example, and the names.
LIBRARIES = {
    "torchvision": (
        "torch", _torchvision,
        ("resnet18", "mobilenet_v3_small", "efficientnet_b0", "squeezenet1_1",
         "shufflenet_v2_x0_5", "lraspp_mobilenet_v3_large"),
    ),
    "timm": (
        "torch", _timm,
        ("vit_tiny_patch16_224", "convnext_atto", "mixer_s32_224", "mobilevit_xxs", "resnet10t"),
    ),
    "transformers": (
        "torch", _transformers,
        ("BERT", "DistilBERT", "GPT-2", "Llama", "T5", "ViT", "CLIP", "Whisper"),
    ),
    "keras.applications": (
        "tensorflow", _keras,
        ("MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "ConvNeXtTiny"),
    ),
    "gluon.model_zoo": (
        "mxnet", _gluon,
        ("resnet18_v2", "mobilenet0.25", "mobilenetv2_0.25", "squeezenet1.1", "densenet121"),
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
