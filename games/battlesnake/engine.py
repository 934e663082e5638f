"""Battlesnake, exactly: a pure engine written from the published rules. `LIMITS.md` says where those leave room."""

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from games.battlesnake.config import Config
from games.battlesnake.geometry import Geometry, Point, geometry
from games.battlesnake.opening import MAX_HEALTH, Position
from games.battlesnake.request import RequestWriter

STARVED = "out-of-health"
POISONED = "hazard"
WALL = "wall-collision"
SELF = "snake-self-collision"
BODY = "snake-collision"
HEAD = "head-collision"
FORFEIT = "forfeit"  # ours: the official engine moves a silent snake on instead


class Snake:
    """One snake. `body` holds cells, head first; `cause`, `by` and `fell` (turn) are None while it lives."""

    __slots__ = ("body", "by", "cause", "fell", "heading", "health", "seat")

    def __init__(self, seat: int, body: Iterable[int], health: int, heading: int) -> None:
        self.seat = seat
        self.body = deque(body)
        self.health = health
        self.heading = heading
        self.cause: str | None = None
        self.by: int | None = None
        self.fell: int | None = None


def tables_for(config: Config) -> Geometry:
    """The board tables that a match under `config` runs on."""
    return geometry(config.width, config.height, config.ruleset == "wrapped")


class BattlesnakeEngine:
    """One match. See `arena.game.Engine` for the calls; replies are official move responses."""

    def __init__(self, config: Config, position: Position, chance: random.Random, writer: RequestWriter) -> None:
        tables = tables_for(config)
        self._tables = tables
        self._config = config
        self._chance = chance
        self._writer = writer
        self._turn = 0
        self._fatigue = 0 if config.ruleset == "constrictor" else 1
        self._survivors = 0 if config.ruleset == "solo" else 1
        self._snakes = [
            Snake(seat, map(tables.cell, body), position.healths[seat], tables.steps["up"])
            for seat, body in enumerate(position.bodies)
        ]
        self._alive = list(self._snakes)
        self._seats = tuple(range(len(self._snakes)))
        self._food = dict.fromkeys(map(tables.cell, position.food))
        self._hazards = dict.fromkeys(map(tables.cell, position.hazards))
        self._safe = [0, 0, config.width - 1, config.height - 1]  # left, bottom, right, top
        # How many segments lie on each cell. A wall counts as one, so that any count above one under a head is trouble.
        self._occupied = list(tables.walls)
        for snake in self._snakes:
            for cell in snake.body:
                self._occupied[cell] += 1
        self._food_text: str | None = None
        self._hazard_text = writer.cells(self._hazards)
        self._board_text = ""
        self._snake_texts: dict[int, str] = {}

    @property
    def done(self) -> bool:
        """True once at most one snake lives (solo: none), or the turn limit is reached."""
        return len(self._alive) <= self._survivors or self._turn >= self._config.max_turns

    def to_move(self) -> Sequence[int]:
        """Seats of the living snakes."""
        return self._seats

    def observe(self, seat: int) -> str:
        """The official `move` request for `seat`, as one line."""
        if not self._board_text:
            self._encode()
        you = self._snake_texts.get(seat) or self._snake_text(self._snakes[seat])
        return self._writer.request(seat, self._board_text, you)

    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:  # noqa: ARG002 - the contract's signature
        """Why `reply` is no move; keys besides "move" are ignored. Moves that kill are legal."""
        move = reply.get("move")
        if isinstance(move, str) and move in self._tables.steps:
            return None
        shown = repr(move)[:40] if isinstance(move, str) else type(move).__name__
        return f'"move" must be one of "up", "down", "left", "right", not {shown}'

    def apply(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        """Play one turn in the published order. A living snake without a reply repeats its last move (first: up)."""
        self._move(replies)
        if self._fatigue:
            if self._hazards:
                self._poison()
            self._feed()
            self._spawn_food()
        else:
            self._grow(self._alive)
        self._eliminate()
        self._turn += 1
        self._board_text = ""
        if self._config.ruleset == "royale" and self._turn % self._config.shrink_every_n_turns == 0:
            self._shrink()

    def forfeit(self, seat: int) -> None:
        """Eliminate `seat` in this turn; its body is no longer in anybody's way."""
        if self._snakes[seat].cause is None:
            self._remove(self._snakes[seat], FORFEIT, None)

    def scores(self) -> Sequence[float]:
        """Turns survived, by seat: later eliminations rank higher, those of one turn tie, the living are best."""
        return [float(self._turn if snake.fell is None else snake.fell - 1) for snake in self._snakes]

    def details(self) -> Mapping[str, Any]:
        """By seat: cause and turn of elimination, the seat that caused it, length at the end."""
        return {
            "turns": self._turn,
            "turn_limit": self._turn >= self._config.max_turns and len(self._alive) > self._survivors,
            "causes": [snake.cause for snake in self._snakes],
            "eliminated_by": [snake.by for snake in self._snakes],
            "eliminated_on": [snake.fell for snake in self._snakes],
            "lengths": [len(snake.body) for snake in self._snakes],
        }

    def frame(self) -> Mapping[str, Any]:
        """The board now, points as [x, y]. A snake's last body is shown in the frame of its elimination only."""
        return {
            "turn": self._turn,
            "width": self._config.width,
            "height": self._config.height,
            "food": self._points(self._food),
            "hazards": self._points(self._hazards),
            "snakes": [
                {
                    "health": snake.health,
                    "length": len(snake.body),
                    "body": self._points(snake.body) if snake.fell in (None, self._turn) else [],
                    "cause": snake.cause,
                }
                for snake in self._snakes
            ],
        }

    def _points(self, cells: Iterable[int]) -> list[Point]:
        points = self._tables.points
        return [points[cell] for cell in cells]

    def _snake_text(self, snake: Snake) -> str:
        return self._writer.snake(snake.seat, snake.health, snake.body)

    def _encode(self) -> None:
        if self._food_text is None:
            self._food_text = self._writer.cells(self._food)
        self._snake_texts = {snake.seat: self._snake_text(snake) for snake in self._alive}
        snakes = self._snake_texts.values()
        self._board_text = self._writer.board(self._turn, self._food_text, self._hazard_text, snakes)

    def _move(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        """Every living snake steps and is drained of a point of health."""
        steps, land, occupied, fatigue = self._tables.steps, self._tables.land, self._occupied, self._fatigue
        for snake in self._alive:
            reply = replies.get(snake.seat)
            if reply is not None:
                snake.heading = steps[reply["move"]]
            body = snake.body
            head = land[body[0] + snake.heading]
            body.appendleft(head)
            occupied[head] += 1
            occupied[body.pop()] -= 1
            snake.health -= fatigue

    def _poison(self) -> None:
        """Hazards drain those whose head is in one, unless food is there too."""
        for snake in self._alive:
            head = snake.body[0]
            if head in self._hazards and head not in self._food:
                snake.health -= self._config.hazard_damage

    def _feed(self) -> None:
        """All heads on a piece of food eat it."""
        food = self._food
        eaters = [snake for snake in self._alive if snake.body[0] in food]
        if not eaters:
            return
        for snake in eaters:
            snake.health = MAX_HEALTH
        self._grow(eaters)
        for snake in eaters:
            food.pop(snake.body[0], None)
        self._food_text = None

    def _grow(self, snakes: Iterable[Snake]) -> None:
        """Double the tail; it is where the tail stays behind on the next move."""
        for snake in snakes:
            tail = snake.body[-1]
            snake.body.append(tail)
            self._occupied[tail] += 1

    def _spawn_food(self) -> None:
        """Fill up to the minimum, or else add one piece by chance."""
        missing = self._config.minimum_food - len(self._food)
        if missing <= 0:
            # One draw each such turn; never more, so that chance is the same whoever sits where.
            missing = int(self._chance.random() * 100 < self._config.food_spawn_chance)
        for _ in range(missing):
            occupied, food = self._occupied, self._food
            empty = [cell for cell in self._tables.cells if not occupied[cell] and cell not in food]
            if empty:
                food[empty[int(self._chance.random() * len(empty))]] = None
                self._food_text = None

    def _eliminate(self) -> None:
        occupied = self._occupied
        for snake in self._alive:
            if occupied[snake.body[0]] > 1 or snake.health <= 0:
                self._resolve()
                return

    def _resolve(self) -> None:
        """First those out of health or off the board, then the collisions among the rest, all at once."""
        standing: list[Snake] = []
        for snake in list(self._alive):
            if snake.health <= 0:
                self._remove(snake, self._drained_by(snake), None)
            elif self._tables.walls[snake.body[0]]:
                self._remove(snake, WALL, None)
            else:
                standing.append(snake)
        collisions = [(snake, _collision(snake, standing)) for snake in standing]
        for snake, collision in collisions:
            if collision is not None:
                self._remove(snake, *collision)

    def _drained_by(self, snake: Snake) -> str:
        poisoned = snake.body[0] in self._hazards and snake.health + self._config.hazard_damage > 0
        return POISONED if poisoned else STARVED

    def _remove(self, snake: Snake, cause: str, by: int | None) -> None:
        snake.cause, snake.by, snake.fell = cause, by, self._turn + 1
        snake.health = max(snake.health, 0)
        for cell in snake.body:
            self._occupied[cell] -= 1
        self._alive = [other for other in self._alive if other is not snake]
        self._seats = tuple(other.seat for other in self._alive)
        self._board_text = ""

    def _shrink(self) -> None:
        """Hazards take one more row or column of the safe rectangle, from a side drawn by lot."""
        left, bottom, right, top = self._safe
        if left > right or bottom > top:
            return
        side = int(self._chance.random() * 4)
        if side % 2 == 0:
            taken = [(self._safe[side], y) for y in range(bottom, top + 1)]
        else:
            taken = [(x, self._safe[side]) for x in range(left, right + 1)]
        self._safe[side] += 1 if side < 2 else -1
        self._hazards.update(dict.fromkeys(map(self._tables.cell, taken)))
        self._hazard_text = self._writer.cells(self._hazards)


def _collision(snake: Snake, standing: Sequence[Snake]) -> tuple[str, int] | None:
    """What `snake` ran into, if that kills it: the cause and the seat it is put down to (the longest involved)."""
    head = snake.body[0]
    if head in islice(snake.body, 1, None):
        return SELF, snake.seat
    others = [other for other in standing if other is not snake]
    bodies = [other for other in others if head in islice(other.body, 1, None)]
    if bodies:
        return BODY, max(bodies, key=_length).seat
    rivals = [other for other in others if other.body[0] == head]
    if rivals and _length(longest := max(rivals, key=_length)) >= _length(snake):
        return HEAD, longest.seat
    return None


def _length(snake: Snake) -> int:
    return len(snake.body)
