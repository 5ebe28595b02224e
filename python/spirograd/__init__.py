"""Functions over NumPy arrays, and their exact gradients, on any Vulkan device.

    loss = spirograd.function("def loss(w: f32[2], x: f32[N], y: f32[N]) = mean(square(w[0] + w[1] * x - y))")
    out = loss.value_and_grad("w")(w=[1, 0], x=[0, 1, 2, 3], y=[1, 3, 5, 7])
    out["d_w"]

Calls take what NumPy or DLPack makes an array, by name or in order, and give a dict of NumPy arrays. Arrays keep their
element type, which has to be that of the input; lists and numbers of Python take it. Functions, programs and devices may be
shared by threads; a Session is for one thread at a time.
"""
from __future__ import annotations

import collections
import ctypes
import os
import threading
from typing import Any, Callable, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _c
from ._c import SpirogradError

__all__ = ["Device", "Function", "Program", "Session", "SpirogradError", "devices", "function", "load"]
__version__ = _c.version()

_NUMPY = {1: np.dtype(np.bool_), 2: np.dtype(np.int32), 3: np.dtype(np.uint32), 4: np.dtype(np.float32),
          5: np.dtype(np.float64), 6: np.dtype(np.float16)}
_NUMBER = {dtype: number for number, dtype in _NUMPY.items()}
_KINDS = {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}  # of the numbers of Python that become elements of each kind
_DERIVATIVES = {"grad": 1, "value_and_grad": 2, "vjp": 3, "jvp": 4, "split_forward": 5, "split_backward": 6}


class SupportsDLPack(Protocol):
    """What other systems' arrays are: tensors of PyTorch, arrays of JAX."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


ArrayLike = Union[npt.ArrayLike, SupportsDLPack]  # what calls take
PathLike = Union[str, "os.PathLike[str]"]
Arrays = dict[str, npt.NDArray[Any]]  # what calls give
_Types = tuple[tuple[Optional[str], int, tuple[int, ...]], ...]  # of inputs: name or None, number of element type, shape


def _bytes(text: Any) -> Optional[bytes]:
    return None if text is None else os.fsencode(text) if isinstance(text, os.PathLike) else str(text).encode()


def devices() -> list[str]:
    """Names of all Vulkan devices, best first."""
    all_of_them = _c.Handle("device_list", "device_list_create")
    n = all_of_them.ask("device_list_count", ctypes.c_size_t)
    return [all_of_them.ask("device_list_name", ctypes.c_char_p, i).decode() for i in range(n)]


class Device:
    """`select`: "" for the best, "0" for the first of devices(), or a part of a name."""

    def __init__(self, select: str = "", cache_dir: Optional[PathLike] = None) -> None:
        options = _c.DeviceOptions(struct_size=ctypes.sizeof(_c.DeviceOptions), select=_bytes(select),
                                   cache_dir=_bytes(cache_dir))
        self._handle = _c.Handle("device", "device_create", options)

    @property
    def name(self) -> str:
        return str(self._handle.ask("device_name", ctypes.c_char_p).decode())

    def __repr__(self) -> str:
        return f"<spirograd.Device {self.name!r}>"


_default: Optional[Device] = None
_default_lock = threading.Lock()


def _default_device() -> Device:
    global _default
    with _default_lock:
        if _default is None:
            _default = Device()
        return _default


def _typed(value: Any) -> Optional[npt.NDArray[Any]]:
    """An array of what has an element type of its own, else None."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return np.asarray(value)
    return None


class Array:
    """Name, NumPy element type and shape of an input or output."""

    def __init__(self, name: str, type_: _c.Type) -> None:
        self.name, self.dtype, self.shape = name, _NUMPY[type_.dtype], tuple(type_.extents[:type_.rank])

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"

    def contents(self, value: ArrayLike) -> npt.NDArray[Any]:
        """`value` as elements that lie in order."""
        array = _typed(value)
        if array is None:
            array = self._of_python(np.asarray(value))
        if array.dtype not in _NUMBER or array.dtype != self.dtype:
            raise SpirogradError("SG0501", f"input '{self.name}' has elements of {self.dtype}, and {array.dtype} are given",
                                 f"element types never convert by themselves: x.astype(np.{self.dtype})")
        if array.shape != self.shape:
            raise SpirogradError("SG0501", f"input '{self.name}' has the shape {self.shape}, and {array.shape} is given",
                                 "shapes are those that the program was made with")
        return np.ascontiguousarray(array)

    def _of_python(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Lists and numbers as the element type, where it holds them."""
        if array.size and array.dtype.kind not in _KINDS[self.dtype.kind]:
            return array
        out = array.astype(self.dtype)
        if array.size and self.dtype.kind in "iu" and not np.array_equal(out, array):
            raise SpirogradError("SG0506", f"input '{self.name}' has elements of {self.dtype}, which do not hold {array}")
        return out


def _view(array: npt.NDArray[Any]) -> _c.Input:
    return _c.Input(array.ctypes.data if array.nbytes else None, array.nbytes, _NUMBER[array.dtype])


def _options(function: Optional[str], file: Optional[PathLike], dtype: Optional[npt.DTypeLike], sizes: dict[str, int],
             inputs: Optional[_Types] = None) -> _c.TextOptions:
    """`inputs`: (name or None, number of the element type or 0, shape) of each; None: declared types and sizes tell all."""
    try:
        number = 0 if dtype is None else _NUMBER[np.dtype(dtype)]
    except KeyError:
        raise SpirogradError("SG0509", f"there are no elements of {np.dtype(dtype)}",
                             "bool, int32, uint32, float16, float32 or float64") from None
    table = (_c.Size * len(sizes))(*[_c.Size(name.encode(), extent) for name, extent in sizes.items()])
    options = _c.TextOptions(struct_size=ctypes.sizeof(_c.TextOptions), function=_bytes(function), file=_bytes(file),
                             sizes=table, n_sizes=len(sizes), dtype=number)
    if inputs is not None:
        types = (_c.NamedType * max(len(inputs), 1))()
        for to, (name, element, shape) in zip(types, inputs):
            to.name, to.type.dtype, to.type.rank = _bytes(name), element, len(shape)
            to.type.extents[:] = (*shape, *[0] * _c.MAX_RANK)[:_c.MAX_RANK]
        options.inputs, options.n_inputs = types, len(inputs)
    return options


class Program:
    """A function for fixed shapes. Made by from_text, from_bundle and load()."""

    def __init__(self, handle: _c.Handle) -> None:
        self._handle, self._lock = handle, threading.Lock()
        self._session: Optional[Session] = None
        self.name: str = handle.ask("program_name", ctypes.c_char_p).decode()
        self.inputs, self.outputs = self._arrays("input"), self._arrays("output")

    def _arrays(self, role: str) -> list[Array]:
        out = []
        for i in range(self._handle.ask(f"program_{role}_count", ctypes.c_size_t)):
            name, type_ = ctypes.c_char_p(), _c.Type()
            _c.call(f"program_{role}", self._handle, i, ctypes.byref(name), ctypes.byref(type_))
            out.append(Array((name.value or b"").decode(), type_))
        return out

    @classmethod
    def from_text(cls, text: str, function: Optional[str] = None, *, dtype: Optional[npt.DTypeLike] = None,
                  file: Optional[PathLike] = None, **sizes: int) -> Program:
        """`function`: the last one if not given. `sizes`: what shape variables stand for; `dtype`: type parameters."""
        return cls(_c.Handle("program", "program_from_text", _bytes(text), _options(function, file, dtype, sizes)))

    @classmethod
    def from_bundle(cls, data: bytes, file: Optional[PathLike] = None) -> Program:
        return cls(_c.Handle("program", "program_from_bundle", bytes(data), len(data), _bytes(file)))

    def _derived(self, how: str, names: tuple[str, ...]) -> Program:
        table = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
        return Program(_c.Handle("program", "program_derive", self._handle, _DERIVATIVES[how], table, len(names)))

    def grad(self, *names: str) -> Program:
        """The gradient of the first scalar result by these inputs, as a program; by all floats if none is named."""
        return self._derived("grad", names)

    def value_and_grad(self, *names: str) -> Program:
        return self._derived("value_and_grad", names)

    def vjp(self, *names: str) -> Program:
        return self._derived("vjp", names)

    def jvp(self, *names: str) -> Program:
        return self._derived("jvp", names)

    def split(self, *names: str) -> tuple[Program, Program]:
        """vjp as two programs, (forward, backward). The second takes by name what it needs of inputs and results of the
        first, and cotangents, ct_y."""
        return self._derived("split_forward", names), self._derived("split_backward", names)

    def save(self, device: Optional[Device] = None, *, deterministic: bool = False) -> bytes:
        """The bytes of a bundle: for every device, or with what this one has."""
        made = _c.Handle("bytes", "program_save", self._handle, device and device._handle, _compile_options(deterministic))
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        _c.call("bytes_get", made, ctypes.byref(data), ctypes.byref(size))
        return ctypes.string_at(data, size.value)

    def session(self, device: Optional[Device] = None, *, deterministic: bool = False) -> Session:
        return Session(self, device or _default_device(), deterministic)

    def __call__(self, *arrays: ArrayLike, **by_name: ArrayLike) -> Arrays:
        with self._lock:
            if self._session is None:
                self._session = self.session()
            return self._session(*arrays, **by_name)

    def __repr__(self) -> str:
        return f"<spirograd.Program {self.name}({', '.join(map(repr, self.inputs))}) -> {self.outputs}>"


def _compile_options(deterministic: bool) -> _c.CompileOptions:
    return _c.CompileOptions(struct_size=ctypes.sizeof(_c.CompileOptions), deterministic=int(deterministic))


class Session:
    """A program ready for a device. Call it; or write inputs, feed outputs to them, run steps and read."""

    def __init__(self, program: Program, device: Device, deterministic: bool = False) -> None:
        self.program, self.device = program, device
        self._handle = _c.Handle("session", "session_create", device._handle, program._handle,
                                 _compile_options(deterministic))

    def _ordered(self, arrays: tuple[ArrayLike, ...], by_name: dict[str, ArrayLike]) -> list[npt.NDArray[Any]]:
        names = [i.name for i in self.program.inputs]
        if len(arrays) > len(names):
            raise SpirogradError("SG0501", f"{self.program.name} has {len(names)} inputs, and {len(arrays)} are given")
        given = dict(zip(names, arrays))
        for name, value in by_name.items():
            if name not in names or name in given:
                raise SpirogradError("SG0503", f"{self.program.name} has no input '{name}', or it is given twice",
                                     "its inputs: " + ", ".join(names))
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise SpirogradError("SG0502", f"{self.program.name} needs '{missing[0]}'", "its inputs: " + ", ".join(names))
        return [i.contents(given[i.name]) for i in self.program.inputs]

    def __call__(self, *arrays: ArrayLike, **by_name: ArrayLike) -> Arrays:
        inputs = self._ordered(arrays, by_name)
        outputs = [np.empty(o.shape, o.dtype) for o in self.program.outputs]
        table = lambda all_of_them: (_c.Input * len(all_of_them))(*map(_view, all_of_them))
        _c.call("session_run", self._handle, table(inputs), len(inputs), table(outputs), len(outputs))
        return {o.name: array for o, array in zip(self.program.outputs, outputs)}

    def write(self, **inputs: ArrayLike) -> None:
        known = {i.name: i for i in self.program.inputs}
        for name, value in inputs.items():
            if name not in known:
                raise SpirogradError("SG0503", f"{self.program.name} has no input '{name}'",
                                     "its inputs: " + ", ".join(known))
            contents = known[name].contents(value)
            _c.call("session_write", self._handle, name.encode(), _view(contents))

    def read(self, name: str) -> npt.NDArray[Any]:
        """One output as the last run has left it, or one input."""
        for a in [*self.program.outputs, *self.program.inputs]:
            if a.name == name:
                array = np.empty(a.shape, a.dtype)
                _c.call("session_read", self._handle, name.encode(), _view(array))
                return array
        raise SpirogradError("SG0503", f"{self.program.name} has no input or output '{name}'")

    def feed(self, output: str, input: str) -> None:
        """What one step writes to the output is what the next one reads as the input."""
        _c.call("session_feed", self._handle, output.encode(), input.encode())

    def run(self, steps: int = 1) -> None:
        if steps < 1:
            raise SpirogradError("SG0501", f"run: the number of steps is {steps}", "run(1) is one step")
        _c.call("session_run_steps", self._handle, steps)


class Function:
    """A function of the language for arrays of any shape. A call takes the program for the shapes and element types of its
    arguments, which is made at the first call with such ones; the `limit` used last are kept. Made by function()."""

    def __init__(self, make: Callable[[_Types], Program], derivatives: tuple[tuple[str, tuple[str, ...]], ...] = (),
                 limit: int = 64) -> None:
        self._make, self._derivatives, self.limit = make, derivatives, limit
        self._programs: collections.OrderedDict[_Types, Program] = collections.OrderedDict()
        self._lock = threading.Lock()

    def grad(self, *names: str) -> Function:
        """The gradient of the first scalar result by these inputs, as a function; by all floats if none is named."""
        return self._derived("grad", names)

    def value_and_grad(self, *names: str) -> Function:
        return self._derived("value_and_grad", names)

    def vjp(self, *names: str) -> Function:
        """Takes cotangents, too, by name: ct_y=.."""
        return self._derived("vjp", names)

    def jvp(self, *names: str) -> Function:
        """Takes tangents, too, by name: dot_w=.."""
        return self._derived("jvp", names)

    def _derived(self, how: str, names: tuple[str, ...]) -> Function:
        return Function(self._make, (*self._derivatives, (how, names)), self.limit)

    def program(self, *arrays: ArrayLike, **by_name: ArrayLike) -> Program:
        """The program that a call with arrays like these runs."""
        more = tuple({"jvp": "dot_", "vjp": "ct_"}[how] for how, _ in self._derivatives if how in ("jvp", "vjp"))
        types: _Types = (*((None, *_element_and_shape(i + 1, array)) for i, array in enumerate(arrays)),
                         *((name, *_element_and_shape(f"'{name}'", array)) for name, array in by_name.items()
                           if not (more and name.startswith(more))))
        with self._lock:
            if types not in self._programs:
                program = self._make(types)
                for how, names in self._derivatives:
                    program = getattr(program, how)(*names)
                self._programs[types] = program
                while len(self._programs) > max(self.limit, 1):
                    self._programs.popitem(last=False)
            self._programs.move_to_end(types)
            return self._programs[types]

    def __call__(self, *arrays: ArrayLike, **by_name: ArrayLike) -> Arrays:
        return self.program(*arrays, **by_name)(*arrays, **by_name)


def _element_and_shape(what: object, value: Any) -> tuple[int, tuple[int, ...]]:
    """Number of the element type, 0 for lists and numbers of Python, and shape."""
    array = _typed(value)
    if array is None:
        return 0, np.shape(value)
    if array.dtype not in _NUMBER:
        raise SpirogradError("SG0501", f"input {what} has elements of {array.dtype}, which programs do not have",
                             "bool, int32, uint32, float16, float32 or float64: x.astype(np.float32)")
    return _NUMBER[array.dtype], array.shape


def function(source: PathLike, name: Optional[str] = None, *, dtype: Optional[npt.DTypeLike] = None,
             **sizes: int) -> Function:
    """The function `name` of a text, or of a file "f.sg"; the last one if not given. `sizes` and `dtype`: what no input
    shows, of shape variables and type parameters."""
    if isinstance(source, os.PathLike) or (source.endswith(".sg") and "\n" not in source):
        how, file = "program_from_file", None
    else:
        how, file = "program_from_text", "text"

    def make(types: _Types) -> Program:
        return Program(_c.Handle("program", how, _bytes(source), _options(name, file, dtype, sizes, types)))

    return Function(make)


def load(path: PathLike, function: Optional[str] = None, *, dtype: Optional[npt.DTypeLike] = None, **sizes: int) -> Program:
    """A bundle (.sgb), or a function of a file of text, which may import others."""
    if os.fspath(path).endswith(".sgb"):
        with open(path, "rb") as file:
            return Program.from_bundle(file.read(), path)
    return Program(_c.Handle("program", "program_from_file", _bytes(path), _options(function, None, dtype, sizes)))
