"""Who makes and who needs each tensor of an ONNX graph."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

Node = Any  # onnx.NodeProto; onnx is imported only where a voice is really split


class Dataflow:
    """A graph, read-only: its nodes must not change while this is used."""

    def __init__(self, graph: Any) -> None:
        self.nodes: list[Node] = list(graph.node)
        self.inputs = [value.name for value in graph.input]
        self.outputs = [value.name for value in graph.output]
        self.maker: dict[str, Node] = {}
        self.users: dict[str, list[Node]] = defaultdict(list)
        for node in self.nodes:
            self.maker |= dict.fromkeys(filter(None, node.output), node)
            for name in dict.fromkeys(filter(None, node.input)):
                self.users[name].append(node)
        self.below: Callable[[str], frozenset[str]] = cache(self._below)
        self.above: Callable[[str], frozenset[str]] = cache(self._above)

    def _below(self, name: str) -> frozenset[str]:
        """The tensor and all that depend on it."""
        return self._closure(name, lambda n: (out for user in self.users[n] for out in user.output))

    def _above(self, name: str) -> frozenset[str]:
        """The tensor and all that it depends on."""
        return self._closure(name, lambda n: self.maker[n].input if n in self.maker else ())

    @staticmethod
    def _closure(name: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
        seen, todo = {name}, [name]
        while todo:
            fresh = {other for other in step(todo.pop()) if other} - seen
            seen |= fresh
            todo += fresh
        return frozenset(seen)
