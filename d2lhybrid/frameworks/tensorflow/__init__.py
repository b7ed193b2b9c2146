"""TensorFlow, and Keras on top of it."""

from d2lhybrid.frameworks.protocol import Framework


class TensorFlow(Framework):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"
    display = "TensorFlow"
    packages = ("tensorflow", "tensorflow-cpu", "tensorflow_cpu")
    extra = "tensorflow"
    order = 2


FRAMEWORK = TensorFlow()
