"""The ways to run a model."""

from d2lhybrid.backends.variant import DeferredBuild, Variant


def variants(net, args, kwargs, include_expert, options):
    def build():
        return lambda x, scale=1.0: x * (net.factor * scale) + net.shift * scale

    return {
        "eager": Variant(net, "y = net(x)"),
        "fused": Variant(DeferredBuild(build), "y = fuse(net)(x)"),
        "on chip": Variant("there is no chip"),
    }
