"""What the bridges to other systems share: a program beside its pullback."""
import threading


class Differentiable:
    """Runs a program, and its pullback by all float inputs, on one device. Threads take turns."""

    def __init__(self, program, device=None):
        self.program, self.device, self._lock = program, device, threading.Lock()
        self.by = [i for i, a in enumerate(program.inputs) if a.dtype.kind == "f"]
        self.of = [i for i, a in enumerate(program.outputs) if a.dtype.kind == "f"]
        self._session = self._pullback = None

    def run(self, *arrays):
        """The results, in order."""
        with self._lock:
            if self._session is None:
                self._session = self.program.session(self.device)
            out = self._session(*arrays)
        return [out[o.name] for o in self.program.outputs]

    @property
    def pullback(self):
        """The inputs, then a cotangent for each float result -> the results, then the cotangents of float inputs."""
        with self._lock:
            if self._pullback is None:
                names = [self.program.inputs[i].name for i in self.by]
                self._pullback = Differentiable(self.program.vjp(*names), self.device)
            return self._pullback
