"""Forget the food. Get them."""

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def move(state):
    board, you = state["board"], state["you"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][1:-1]}
    prey = next((snake["head"] for snake in board["snakes"] if snake["id"] != you["id"]), you["head"])
    best, best_steps = "up", None
    for name, (dx, dy) in STEPS.items():
        x, y = you["head"]["x"] + dx, you["head"]["y"] + dy
        if not (0 <= x < board["width"] and 0 <= y < board["height"]) or (x, y) in taken:
            continue
        steps = abs(x - prey["x"]) + abs(y - prey["y"])
        if best_steps is None or steps < best_steps:
            best, best_steps = name, steps
    return {"move": best}
