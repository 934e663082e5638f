"""A cheap bot for measuring: the first free square, looking from a corner that changes now and then."""

STEPS = (("up", 0, 1), ("right", 1, 0), ("down", 0, -1), ("left", -1, 0))


def move(state):
    board, you = state["board"], state["you"]
    head, width, height = you["head"], board["width"], board["height"]
    taken = {(p["x"], p["y"]) for snake in board["snakes"] for p in snake["body"]}
    first = state["turn"] // 7 % 4
    x, y = head["x"], head["y"]
    for name, dx, dy in STEPS[first:] + STEPS[:first]:
        if 0 <= x + dx < width and 0 <= y + dy < height and (x + dx, y + dy) not in taken:
            return {"move": name}
    return {"move": "up"}
