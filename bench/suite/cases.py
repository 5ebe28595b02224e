"""What bench/run measures: programs, sizes, and what the gradient is taken by."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    value: str  # a function of programs.sg, and of peers.py
    loss: str  # the function whose gradient is taken, or ""
    inputs: tuple  # name, shape, and for indices the number of places
    wrt: tuple = ()


CASES = [
    Case("elementwise, 16M", "wave", "", (("x", (1 << 24,)),)),
    Case("elementwise and sum, 64K", "wave_sum", "wave_sum", (("x", (1 << 16,)),), ("x",)),
    Case("elementwise and sum, 16M", "wave_sum", "wave_sum", (("x", (1 << 24,)),), ("x",)),
    Case("sums of rows, 4096 x 4096", "row_sums", "row_sums_loss", (("x", (4096, 4096)),), ("x",)),
    Case("sums of columns, 4096 x 4096", "column_sums", "column_sums_loss", (("x", (4096, 4096)),), ("x",)),
    Case("sums of columns, 997 x 1009", "column_sums", "column_sums_loss", (("x", (997, 1009)),), ("x",)),
    Case("logsumexp of rows, 4096 x 4096", "log_partition", "log_partition", (("x", (4096, 4096)),), ("x",)),
    Case("softmax of rows, 4096 x 4096", "softmax_rows", "softmax_rows_loss", (("x", (4096, 4096)),), ("x",)),
    Case("softmax of short rows, 100,000 x 50", "softmax_rows", "softmax_rows_loss", (("x", (100000, 50)),), ("x",)),
    Case("layer normalisation, 4096 x 1024", "layer_norm", "layer_norm_loss",
         (("x", (4096, 1024)), ("scale", (1024,)), ("shift", (1024,))), ("x", "scale", "shift")),
    Case("attention, 8 heads of 512 x 64", "attention", "attention_loss",
         (("q", (8, 512, 64)), ("k", (8, 512, 64)), ("v", (8, 512, 64))), ("q", "k", "v")),
    Case("matrices, 512", "product", "product_loss", (("a", (512, 512)), ("b", (512, 512))), ("a", "b")),
    Case("matrices, 1000", "product", "product_loss", (("a", (1000, 1000)), ("b", (1000, 1000))), ("a", "b")),
    Case("4096 matrices, 8", "products", "products_loss", (("a", (4096, 8, 8)), ("b", (4096, 8, 8))), ("a", "b")),
    Case("convolution, 3 x 3", "convolution", "convolution_loss", (("x", (8, 64, 64, 16)), ("w", (3, 3, 16, 32))),
         ("x", "w")),
    Case("nearest of 100 centres", "nearest_centre", "nearest_centre", (("centres", (100, 16)), ("x", (10000, 16))),
         ("centres",)),
    Case("two layers, 784 to 256 to 10", "network", "network",
         (("w1", (784, 256)), ("b1", (256,)), ("w2", (256, 10)), ("b2", (10,)), ("x", (64, 784)), ("label", (64,), 10)),
         ("w1", "b1", "w2", "b2")),
    Case("histogram of 4M", "histogram", "histogram_loss", (("weight", (1 << 22,)), ("bin", (1 << 22,), 1000)),
         ("weight",)),
    Case("4M reads of 1M", "lookup_loss", "lookup_loss", (("table", (1 << 20,)), ("place", (1 << 22,), 1 << 20)),
         ("table",)),
    Case("running sums of 1M", "running_sums", "running_sums_loss", (("x", (1 << 20,)),), ("x",)),
    Case("10,000 steps of 64", "recurrence", "recurrence", (("a", (64,)), ("start", (64,)), ("x", (10000, 64))),
         ("a", "start", "x")),
    Case("transpose, 4096 x 4096", "transposed", "", (("x", (4096, 4096)),)),
]
