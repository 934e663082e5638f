"""Stays on the board and out of every body."""

import random

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def open_moves(state):
    """Moves that do not kill at once, name to square. A tail moves on, so its square is free."""
    board, head = state["board"], state["you"]["head"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    moves = {}
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            moves[name] = (x, y)
    return moves


def move(state):
    return {"move": random.choice(list(open_moves(state)) or ["up"])}
