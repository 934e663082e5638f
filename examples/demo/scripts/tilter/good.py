"""A sound plan: out of walls and bodies, to food when hungry."""

import random

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
HUNGRY = 40


def move(state):
    board, you = state["board"], state["you"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    moves = {}
    for name, (dx, dy) in STEPS.items():
        x, y = you["head"]["x"] + dx, you["head"]["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            moves[name] = min((abs(x - piece["x"]) + abs(y - piece["y"]) for piece in board["food"]), default=0)
    if you["health"] > HUNGRY:
        return {"move": random.choice(list(moves) or ["up"])}
    return {"move": min(moves, key=moves.get, default="up")}
