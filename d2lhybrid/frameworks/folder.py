"""A framework with a folder here: what can be done with its models stands in modules of the folder.

These modules have the same names and functions in each folder. They import their framework, so they
are imported when a method is first called.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.layers import Layer
from d2lhybrid.frameworks.variant import Args, Function, Kwargs, VariantsByName
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.graph import Graph


class VariantsModule(Protocol):
    """``variants.py`` of a folder."""

    def variants(
        self, model: Any, args: Args, kwargs: Kwargs, include_expert: bool, options: Kwargs, /
    ) -> VariantsByName: ...

    def dense_layers(self, model: Any, /) -> list[Layer] | None: ...


class TrainingModule(Protocol):
    """``training.py`` of a folder."""

    def training(
        self, model: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any, /
    ) -> VariantsByName: ...


class ExplainModule(Protocol):
    """``explain.py`` of a folder."""

    def explain(self, model: Any, args: Args, kwargs: Kwargs, /) -> Explanation: ...

    def graphs(self, model: Any, args: Args, kwargs: Kwargs, /) -> Sequence[Graph]: ...


class TravelModule(Protocol):
    """``travel.py`` of a folder."""

    def settings(self) -> Mapping[str, Any]: ...

    def apply_settings(self, settings: Mapping[str, Any], /) -> None: ...

    def reduce(self, obj: Any, /) -> Any: ...


class FolderFramework(Framework):
    """What the frameworks with a folder share; each adds its devices and tensors."""

    def import_part(self, part: str) -> Any:
        """Import the framework, and then a module of its folder."""
        self.load()
        return import_module(f"{type(self).__module__}.{part}")

    def variants(
        self,
        model: Function,
        args: Args,
        kwargs: Kwargs,
        *,
        include_expert: bool,
        compiler_options: Kwargs,
    ) -> VariantsByName:
        module: VariantsModule = self.import_part("variants")
        return module.variants(model, args, kwargs, include_expert, compiler_options)

    def training(
        self, model: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> VariantsByName:
        module: TrainingModule = self.import_part("training")
        return module.training(model, loss, optimizer, args, kwargs, target)

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        module: ExplainModule = self.import_part("explain")
        return module.explain(model, args, kwargs)

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        module: ExplainModule = self.import_part("explain")
        return module.graphs(model, args, kwargs)

    def dense_layers(self, model: Function) -> list[Layer] | None:
        module: VariantsModule = self.import_part("variants")
        return module.dense_layers(model)

    def settings(self) -> Mapping[str, Any]:
        module: TravelModule = self.import_part("travel")
        return module.settings()

    def apply_settings(self, settings: Mapping[str, Any]) -> None:
        module: TravelModule = self.import_part("travel")
        module.apply_settings(settings)

    def reduce(self, obj: Any) -> Any:
        module: TravelModule = self.import_part("travel")
        return module.reduce(obj)
