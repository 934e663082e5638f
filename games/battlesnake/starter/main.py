"""A first Battlesnake: it never turns back on itself and never leaves the board, and that is all it knows.

The arena calls `move` once a turn with the official move request and plays what it returns.
"""

import random

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def move(game_state: dict) -> dict:
    you = game_state["you"]
    board = game_state["board"]
    head = you["head"]
    neck = you["body"][1]

    safe_moves = []
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if x == neck["x"] and y == neck["y"]:
            continue
        if not (0 <= x < board["width"] and 0 <= y < board["height"]):
            continue
        safe_moves.append(name)

    # Ideas for what comes next:
    # 1. Stay out of your own body and out of the other snakes (board["snakes"]).
    # 2. Find food (board["food"]) before you["health"] runs out.
    # 3. Keep room around you: a dead end kills some turns later.
    # 4. Win head-to-head meetings, or avoid them: the longer snake survives.
    return {"move": random.choice(safe_moves or list(STEPS))}
