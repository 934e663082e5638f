"""The board as numbers: every square is one integer, with a border one square wide around the board."""

from dataclasses import dataclass
from functools import lru_cache

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Look-up tables of one board size, shared by all matches on it. A *cell* indexes every list here.

    `cells`: those on the board, row by row from the bottom. `steps`: what a move adds to a cell. `land`: where a head
    that stepped to a cell comes to lie (the far edge on a wrapped board). `walls`: 1 for border cells, else 0.
    `points` and `texts`: a cell's coordinates, plain and as official JSON.
    """

    stride: int
    cells: tuple[int, ...]
    steps: dict[str, int]
    land: tuple[int, ...]
    walls: tuple[int, ...]
    points: tuple[Point, ...]
    texts: tuple[str, ...]

    def cell(self, point: Point) -> int:
        """The cell at (x, y); (0, 0) is the bottom left of the board."""
        return (point[1] + 1) * self.stride + point[0] + 1


@lru_cache(maxsize=16)
def geometry(width: int, height: int, wrapped: bool) -> Geometry:
    """Tables for a board of `width` x `height`, whose edges are joined if `wrapped`."""
    stride = width + 2
    points = tuple((x, y) for y in range(-1, height + 1) for x in range(-1, width + 1))
    on_board = [0 <= x < width and 0 <= y < height for x, y in points]
    joined = tuple((y % height + 1) * stride + x % width + 1 for x, y in points)
    return Geometry(
        stride=stride,
        cells=tuple(cell for cell, inside in enumerate(on_board) if inside),
        steps={"up": stride, "down": -stride, "left": -1, "right": 1},
        land=joined if wrapped else tuple(range(len(points))),
        walls=tuple(int(not inside) for inside in on_board),
        points=points,
        texts=tuple(f'{{"x":{x},"y":{y}}}' for x, y in points),
    )
