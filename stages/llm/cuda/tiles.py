"""Sizes of the pieces in which the products are computed, as measured on an H200.

`python -m benchmarks.llm_tiles` prints the times that they were chosen by.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tile:
    """How a product is cut.

    Attributes:
        block_n: rows of the weight that a program computes.
        block_k: of their elements, at once.
        stages: pieces that are loaded ahead.
        warps: of a program.
    """

    block_n: int
    block_k: int
    stages: int
    warps: int

    def at_most(self, block_n: int) -> "Tile":
        """The same with no more rows."""
        return replace(self, block_n=min(self.block_n, block_n))

    def arguments(self, m: int, k: int) -> dict[str, int | bool]:
        """Of a kernel over m rows of k elements."""
        return {
            "VECTOR": m == 1,
            "EVEN": k % self.block_k == 0,
            "BLOCK_N": self.block_n,
            "BLOCK_M": max(16, 1 << (m - 1).bit_length()),
            "BLOCK_K": self.block_k,
            "STAGES": self.stages,
            "num_warps": self.warps,
        }


def choose_tile(product: str, m: int, k: int, *, narrow: bool) -> Tile:
    """The tile of a product.

    Args:
        product: `qkv`, `add`, `gate_up` or `head`.
        m: rows of the input.
        k: elements of a row.
        narrow: weights of eight bits.
    """
    many = 1 if m == 1 else 16 if m <= 16 else 64
    return TABLE.get((product, many, k, narrow)) or (NARROW if narrow else DEFAULTS)[many]


DEFAULTS = {1: Tile(8, 512, 3, 4), 16: Tile(32, 128, 5, 4), 64: Tile(32, 64, 4, 4)}
NARROW = {1: Tile(8, 512, 1, 4), 16: Tile(32, 128, 5, 4), 64: Tile(32, 64, 4, 4)}
TABLE: dict[tuple[str, int, int, bool], Tile] = {
    # 8 billion weights
    ("qkv", 1, 4096, False): Tile(16, 512, 3, 4),
    ("add", 1, 4096, False): Tile(8, 512, 3, 4),
    ("gate_up", 1, 4096, False): Tile(4, 1024, 1, 4),
    ("add", 1, 14_336, False): Tile(8, 512, 3, 4),
    ("head", 1, 4096, False): Tile(32, 256, 3, 4),
    ("qkv", 16, 4096, False): Tile(64, 256, 3, 4),
    ("add", 16, 4096, False): Tile(32, 256, 5, 2),
    ("gate_up", 16, 4096, False): Tile(64, 64, 3, 4),
    ("add", 16, 14_336, False): Tile(16, 256, 5, 2),
    ("add", 1, 4096, True): Tile(16, 512, 3, 4),
    ("add", 1, 14_336, True): Tile(16, 512, 3, 4),
    # 1 billion
    ("qkv", 1, 2048, False): Tile(4, 512, 1, 4),
    ("add", 1, 2048, False): Tile(4, 1024, 1, 8),
    ("gate_up", 1, 2048, False): Tile(64, 256, 1, 8),
    ("add", 1, 8192, False): Tile(8, 1024, 3, 4),
    ("head", 1, 2048, False): Tile(16, 512, 3, 4),
    ("qkv", 16, 2048, False): Tile(64, 256, 3, 4),
    ("add", 16, 2048, False): Tile(16, 256, 5, 2),
    ("gate_up", 16, 2048, False): Tile(64, 64, 5, 4),
    ("add", 16, 8192, False): Tile(16, 256, 5, 2),
    # 135 million
    ("qkv", 1, 576, False): Tile(8, 1024, 1, 4),
    ("add", 1, 576, False): Tile(8, 1024, 1, 8),
    ("gate_up", 1, 576, False): Tile(4, 1024, 1, 4),
    ("add", 1, 1536, False): Tile(8, 512, 4, 8),
    ("head", 1, 576, False): Tile(64, 128, 1, 4),
    ("qkv", 16, 576, False): Tile(16, 128, 3, 2),
    ("add", 16, 576, False): Tile(16, 128, 5, 2),
    ("gate_up", 16, 576, False): Tile(64, 128, 3, 8),
    ("add", 16, 1536, False): Tile(16, 256, 5, 2),
}
