"""Goes where it keeps most room: every move is judged by the squares it would reach before anybody else.

Sets of squares are whole numbers, one bit a square, so that a flood over the board takes a few operations a step.
"""

from functools import lru_cache

STEPS = (("up", 0, 1), ("down", 0, -1), ("left", -1, 0), ("right", 1, 0))


@lru_cache(maxsize=4)
def spreader(width, height, wrapped):
    """A function from a set of squares to the set of them and their neighbours."""
    every = (1 << width * height) - 1
    left = sum(1 << y * width for y in range(height))
    right = left << width - 1
    bottom = (1 << width) - 1
    top_shift, side_shift = width * (height - 1), width - 1

    def spread(squares):
        grown = squares | squares << width | squares >> width | (squares & ~right) << 1 | (squares & ~left) >> 1
        if wrapped:
            grown |= squares >> top_shift | (squares & bottom) << top_shift
            grown |= (squares & right) >> side_shift | (squares & left) << side_shift
        return grown & every

    return spread


def rooms(spread, mine, theirs, blocked):
    """How many squares are reached from `mine` strictly before `theirs`. Ties are nobody's."""
    free = ~(blocked | mine | theirs)
    reached, mine_edge, their_edge = mine, mine, theirs
    while mine_edge:
        mine_next, their_next = spread(mine_edge) & free, spread(their_edge) & free
        free &= ~(mine_next | their_next)
        mine_edge, their_edge = mine_next & ~their_next, their_next
        reached |= mine_edge
    return bin(reached).count("1") - 1


def steps_to(spread, start, goals, blocked, limit=40):
    """Moves from `start` to the nearest of `goals` past `blocked` squares, or None."""
    reached, edge = start, start
    for distance in range(limit):
        if edge & goals:
            return distance
        edge = spread(edge) & ~blocked & ~reached
        if not edge:
            return None
        reached |= edge
    return None


def move(state):
    board, you = state["board"], state["you"]
    width, height = board["width"], board["height"]
    wrapped = state["game"]["ruleset"]["name"] == "wrapped"
    spread = spreader(width, height, wrapped)

    def bit(point):
        return 1 << point["y"] * width + point["x"]

    blocked = danger = rival_heads = 0
    longest_rival = 0
    for snake in board["snakes"]:
        for part in snake["body"][:-1]:
            blocked |= bit(part)
        if snake["id"] != you["id"]:
            rival_heads |= bit(snake["head"])
            longest_rival = max(longest_rival, snake["length"])
            if snake["length"] >= you["length"]:
                danger |= spread(bit(snake["head"]))
    food = sum(bit(point) for point in board["food"])
    hazards = sum({bit(point) for point in board["hazards"]})
    hungry = you["health"] < 40 or you["length"] <= longest_rival + 1

    best, best_value = "up", None
    for name, dx, dy in STEPS:
        x, y = you["head"]["x"] + dx, you["head"]["y"] + dy
        if wrapped:
            x, y = x % width, y % height
        elif not (0 <= x < width and 0 <= y < height):
            continue
        square = 1 << y * width + x
        if square & blocked:
            continue
        room = rooms(spread, square, rival_heads, blocked)
        value = min(room, 2 * you["length"]) * 2 + room * 0.5
        if square & danger:
            value -= 60
        if square & hazards:
            value -= 15 if you["health"] > 40 else 60
        distance = steps_to(spread, square, food, blocked)
        if distance is not None:
            value -= distance * (4 if you["health"] < 25 else 1.5 if hungry else 0.1)
        if best_value is None or value > best_value:
            best, best_value = name, value
    return {"move": best}
