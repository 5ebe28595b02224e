"""What the bridges to other systems share: a program beside its pullback."""
from __future__ import annotations

import threading
from typing import Any, Optional

import numpy.typing as npt

from . import ArrayLike, Device, Program, Session


class Differentiable:
    """Runs a program, and its pullback by all float inputs, on one device. Threads take turns."""

    def __init__(self, program: Program, device: Optional[Device] = None) -> None:
        self.program, self.device, self._lock = program, device, threading.Lock()
        self.by = [i for i, a in enumerate(program.inputs) if a.dtype.kind == "f"]
        self.of = [i for i, a in enumerate(program.outputs) if a.dtype.kind == "f"]
        self._session: Optional[Session] = None
        self._pullback: Optional[Differentiable] = None

    def run(self, *arrays: ArrayLike) -> list[npt.NDArray[Any]]:
        """The results, in order."""
        with self._lock:
            if self._session is None:
                self._session = self.program.session(self.device)
            out = self._session(*arrays)
        return [out[o.name] for o in self.program.outputs]

    @property
    def pullback(self) -> Differentiable:
        """The inputs, then a cotangent for each float result -> the results, then the cotangents of float inputs."""
        with self._lock:
            if self._pullback is None:
                names = [self.program.inputs[i].name for i in self.by]
                self._pullback = Differentiable(self.program.vjp(*names), self.device)
            return self._pullback
