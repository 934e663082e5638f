"""Any move that does not kill at once."""

import random


def move(state):
    board, head = state["board"], state["you"]["head"]
    width, height, x, y = board["width"], board["height"], head["x"], head["y"]
    # A tail moves away, so its square is free unless the snake has just eaten; then the segment before it lies there too.
    taken = {p["x"] * 32 + p["y"] for snake in board["snakes"] for p in snake["body"][:-1]}
    around = (("up", x, y + 1), ("down", x, y - 1), ("left", x - 1, y), ("right", x + 1, y))
    if state["game"]["ruleset"]["name"] == "wrapped":
        safe = [name for name, a, b in around if a % width * 32 + b % height not in taken]
    else:
        safe = [name for name, a, b in around if 0 <= a < width and 0 <= b < height and a * 32 + b not in taken]
    return {"move": safe[int(random.random() * len(safe))] if safe else "up"}
