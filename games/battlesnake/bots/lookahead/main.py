"""Looks ahead: it plays out its own moves against the most dangerous rival's best answers, a few turns deep, and judges
what is left by the room each side holds.

The effort is counted in positions, not in time, so that the same board always gets the same move.
"""

from functools import lru_cache

BUDGET = 160  # positions a move; about 3 ms
DEEPEST = 8
NAMES = ("up", "down", "left", "right")
WON, LOST = 10_000.0, -10_000.0


class Enough(Exception):
    """The budget is spent; the result of the last whole depth stands."""


@lru_cache(maxsize=4)
def board_of(width, height, wrapped):
    """Neighbour table (square -> squares up, down, left, right; -1 is off the board) and the set-growing function."""
    every = (1 << width * height) - 1
    left = sum(1 << y * width for y in range(height))
    right = left << width - 1
    bottom = (1 << width) - 1
    top_shift, side_shift = width * (height - 1), width - 1

    def square(x, y):
        if wrapped:
            x, y = x % width, y % height
        return y * width + x if 0 <= x < width and 0 <= y < height else -1

    around = [
        (square(x, y + 1), square(x, y - 1), square(x - 1, y), square(x + 1, y))
        for y in range(height)
        for x in range(width)
    ]

    def spread(squares):
        grown = squares | squares << width | squares >> width | (squares & ~right) << 1 | (squares & ~left) >> 1
        if wrapped:
            grown |= squares >> top_shift | (squares & bottom) << top_shift
            grown |= (squares & right) >> side_shift | (squares & left) << side_shift
        return grown & every

    return around, spread


class Search:
    """One move's search. A snake is (body, health); bodies are tuples of squares, head first."""

    def __init__(self, state):
        board, you = state["board"], state["you"]
        width = board["width"]
        ruleset = state["game"]["ruleset"]
        self.around, self.spread = board_of(width, board["height"], ruleset["name"] == "wrapped")
        self.constrictor = ruleset["name"] == "constrictor"
        self.damage = ruleset["settings"]["hazardDamagePerTurn"]
        self.hazards = {p["y"] * width + p["x"] for p in board["hazards"]}
        self.food = frozenset(p["y"] * width + p["x"] for p in board["food"])
        snakes = {
            s["id"]: (tuple(p["y"] * width + p["x"] for p in s["body"]), s["health"]) for s in board["snakes"]
        }
        self.me = snakes.pop(you["id"])
        head = you["head"]
        order = sorted(
            snakes,
            key=lambda name: abs(snakes[name][0][0] % width - head["x"]) + abs(snakes[name][0][0] // width - head["y"]),
        )
        self.rival = snakes[order[0]] if order else None
        self.others = 0  # bodies of the rest stand still
        self.other_threat = 0
        for name in order[1:]:
            body = snakes[name][0]
            for square in body[:-1]:
                self.others |= 1 << square
            if len(body) >= len(self.me[0]):
                self.other_threat |= self.spread(1 << body[0])
        self.positions = 0

    def best(self):
        choices = self.options(self.me)
        if not choices:
            return "up"
        best = max(choices, key=lambda choice: self.after(self.me, choice[1], 1, self.food))[0]
        for depth in range(2, DEEPEST + 1):
            try:
                values = []
                floor = LOST * 2
                for name, square in sorted(choices, key=lambda choice: choice[0] != best):
                    value = self.after(self.me, square, depth, self.food, self.rival, floor)
                    values.append((value, name))
                    floor = max(floor, value)
            except Enough:
                break
            best = max(values, key=lambda pair: pair[0])[1]
        return best

    def options(self, snake):
        head = snake[0][0]
        blocked = set(snake[0][:-1])
        return [
            (name, square)
            for name, square in zip(NAMES, self.around[head])
            if square >= 0 and square not in blocked
        ] or [(name, square) for name, square in zip(NAMES, self.around[head]) if square >= 0][:1]

    def after(self, me, square, depth, food, rival=None, floor=LOST * 2):
        """The worst that a rival can make of my step to `square`; cut short once it is below `floor`."""
        rival = self.rival if rival is None else rival
        if rival is None:
            return self.judge(self.step(me, square, food), None, food, depth)
        worst = -LOST * 2
        for _, answer in self.options(rival):
            value = self.judge(self.step(me, square, food), self.step(rival, answer, food), food, depth)
            if value < worst:
                worst = value
                if worst <= floor:
                    break
        return worst

    def step(self, snake, square, food):
        body, health = snake
        if self.constrictor:
            return (square, *body), health
        if square in food:
            moved = (square, *body[:-1])
            return (*moved, moved[-1]), 100
        return (square, *body[:-1]), health - 1 - (self.damage if square in self.hazards else 0)

    def judge(self, me, rival, food, depth):
        """The value of a position after both have stepped, looking `depth - 1` turns further."""
        self.positions += 1
        if self.positions > BUDGET:
            raise Enough
        head, length = me[0][0], len(me[0])
        dead = me[1] <= 0 or head in me[0][1:] or self.others >> head & 1
        if rival is not None:
            other = rival[0][0]
            dead = dead or head in rival[0][1:] or (head == other and length <= len(rival[0]))
            beaten = (
                rival[1] <= 0
                or other in rival[0][1:]
                or other in me[0][1:]
                or bool(self.others >> other & 1)
                or (head == other and length >= len(rival[0]))
            )
            if dead:
                return -2_000.0 - 100 * depth if beaten else LOST - 100 * depth
            if beaten:
                return WON + 100 * depth
        elif dead:
            return LOST - 100 * depth
        if depth <= 1:
            return self.value(me, rival, food)
        food = food - {head} if rival is None else food - {head, rival[0][0]}
        return self.deeper(me, rival, food, depth - 1)

    def deeper(self, me, rival, food, depth):
        best = LOST * 2
        for _, square in self.options(me):
            if rival is None:
                value = self.judge(self.step(me, square, food), None, food, depth)
            else:
                value = self.after(me, square, depth, food, rival, best)
            best = max(best, value)
        return best

    def value(self, me, rival, food):
        """Room held, length, and food when it matters; in squares."""
        blocked = self.others
        for square in me[0][:-1]:
            blocked |= 1 << square
        mine, theirs = 1 << me[0][0], 0
        if rival is not None:
            for square in rival[0][:-1]:
                blocked |= 1 << square
            theirs = 1 << rival[0][0]
        food_bits = 0
        for square in food:
            food_bits |= 1 << square
        my_room, their_room, meal = self.divide(mine, theirs, blocked, food_bits)
        lead = len(me[0]) - len(rival[0]) if rival is not None else 0
        result = my_room - their_room + 6.0 * max(-3, min(lead, 3)) + 0.5 * len(me[0])
        if my_room < len(me[0]):
            result -= 4.0 * (len(me[0]) - my_room)
        if rival is not None and their_room < len(rival[0]):
            result += 2.0 * (len(rival[0]) - their_room)
        if mine & self.other_threat:
            result -= 60
        if me[0][0] in self.hazards:
            result -= 10
        urgency = 3.0 if me[1] < 30 else 1.0 if lead < 2 else 0.2
        return result - urgency * meal

    def divide(self, mine, theirs, blocked, food):
        """Squares each side reaches first, and my steps to the nearest food that I reach first (20 if none)."""
        spread = self.spread
        free = ~(blocked | mine | theirs)
        my_room, their_room, meal, distance = mine, theirs, 20, 0
        if mine & food:
            meal = 0
        while mine or theirs:
            distance += 1
            mine, theirs = spread(mine) & free, spread(theirs) & free
            free &= ~(mine | theirs)
            mine, theirs = mine & ~theirs, theirs & ~mine
            my_room |= mine
            their_room |= theirs
            if meal == 20 and mine & food:
                meal = distance
        return bin(my_room).count("1") - 1, bin(their_room).count("1") - 1, meal


def move(state):
    return {"move": Search(state).best()}
