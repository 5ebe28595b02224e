"""The functions of <spirograd/spirograd.h> by ctypes, and its errors as exceptions."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Optional

MAX_RANK = 6


class Type(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("rank", c_int32), ("extents", c_int64 * MAX_RANK)]


class Input(ctypes.Structure):  # and sg_output, which has the same members
    _fields_ = [("data", c_void_p), ("bytes", c_size_t), ("dtype", c_int32)]


class Size(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("extent", c_int64)]


class NamedType(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", Type)]


class TextOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("function", c_char_p), ("file", c_char_p), ("sizes", POINTER(Size)),
                ("n_sizes", c_size_t), ("dtype", c_int32), ("inputs", POINTER(NamedType)), ("n_inputs", c_size_t)]


class DeviceOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("select", c_char_p), ("cache_dir", c_char_p), ("on_message", c_void_p),
                ("user", c_void_p), ("validation", c_int32)]


class CompileOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("deterministic", c_int32)]


class SpirogradError(Exception):
    """One mistake. `code` is stable ("SG0501"); `file`, `line` and `column` are a place in the text of a program."""

    def __init__(self, code: str, message: str, help: str = "", file: str = "", line: int = 0, column: int = 0,
                 text: Optional[str] = None) -> None:
        super().__init__(text or f"error[{code}]: {message}" + (f"\n   = help: {help}" if help else ""))
        self.code, self.message, self.help = code, message, help
        self.file, self.line, self.column = file, line, column


# Parameters of each function, as far as calls need them. H: a handle or a pointer that may be None.
H, OUT = c_void_p, POINTER(c_void_p)
TEXT, NAME = c_char_p, POINTER(c_char_p)
FUNCTIONS = {
    "device_list_create": [OUT], "device_list_count": [H, POINTER(c_size_t)], "device_list_name": [H, c_size_t, NAME],
    "device_create": [POINTER(DeviceOptions), OUT], "device_name": [H, NAME],
    "program_from_text": [TEXT, POINTER(TextOptions), OUT], "program_from_file": [TEXT, POINTER(TextOptions), OUT],
    "program_from_bundle": [c_char_p, c_size_t, TEXT, OUT],
    "program_derive": [H, c_int32, POINTER(c_char_p), c_size_t, OUT], "program_name": [H, NAME],
    "program_input_count": [H, POINTER(c_size_t)], "program_output_count": [H, POINTER(c_size_t)],
    "program_input": [H, c_size_t, NAME, POINTER(Type)], "program_output": [H, c_size_t, NAME, POINTER(Type)],
    "program_save": [H, H, POINTER(CompileOptions), OUT], "bytes_get": [H, OUT, POINTER(c_size_t)],
    "session_create": [H, H, POINTER(CompileOptions), OUT],
    "session_run": [H, POINTER(Input), c_size_t, POINTER(Input), c_size_t],
    "session_write": [H, TEXT, POINTER(Input)], "session_read": [H, TEXT, POINTER(Input)],
    "session_feed": [H, TEXT, TEXT], "session_run_steps": [H, c_uint64],
}


def _load() -> ctypes.CDLL:
    beside = os.path.join(os.path.dirname(__file__), "libspirograd.so.0")  # where `pip install .` puts it
    name = os.environ.get("SPIROGRAD_LIBRARY") or (beside if os.path.exists(beside) else "libspirograd.so.0")
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"cannot load '{name}': {error}; build it with the package (pip install .), install it (cmake "
                          "--install), or set SPIROGRAD_LIBRARY to the path of libspirograd.so") from None
    for function, parameters in FUNCTIONS.items():
        getattr(library, "sg_" + function).argtypes = parameters
        getattr(library, "sg_" + function).restype = c_int32
    for kind in ("device_list", "device", "program", "bytes", "session"):
        getattr(library, f"sg_{kind}_destroy").argtypes = [c_void_p]
        getattr(library, f"sg_{kind}_destroy").restype = None
    library.sg_version.restype = c_char_p
    library.sg_last_error.restype = c_void_p
    for part in ("code", "message", "help", "file", "text", "line", "column"):
        getattr(library, "sg_error_" + part).argtypes = [c_void_p]
        getattr(library, "sg_error_" + part).restype = c_int32 if part in ("line", "column") else c_char_p
    return library


library = _load()


def version() -> str:
    return str(library.sg_version().decode())


def call(function: str, *arguments: Any) -> None:
    """Raises SpirogradError with all that the library says."""
    if getattr(library, "sg_" + function)(*arguments) == 0:
        return
    error = library.sg_last_error()
    part = lambda name: getattr(library, "sg_error_" + name)(error)
    word = lambda name: part(name).decode("utf-8", "replace")
    raise SpirogradError(word("code"), word("message"), word("help"), word("file"), part("line"), part("column"),
                         word("text"))


class Handle:
    """Owns what a function gives through its last parameter."""

    def __init__(self, kind: str, function: str, *arguments: Any) -> None:
        self.kind, self.pointer = kind, c_void_p()
        call(function, *arguments, ctypes.byref(self.pointer))

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return self.pointer

    def __del__(self) -> None:
        if self.pointer:
            getattr(library, f"sg_{self.kind}_destroy")(self.pointer)
            self.pointer = c_void_p()

    def ask(self, function: str, kind: Any, *arguments: Any) -> Any:
        out = kind()
        call(function, self, *arguments, ctypes.byref(out))
        return out.value
