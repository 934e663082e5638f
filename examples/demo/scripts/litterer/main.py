import random

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
HUNGRY = 20


def free(state):
    board, head = state["board"], state["you"]["head"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    moves = {}
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            moves[name] = (x, y)
    return moves


def move(state):
    moves = free(state)
    if not moves:
        return {"move": "up"}
    if state["you"]["health"] > HUNGRY:
        return {"move": random.choice(sorted(moves))}
    food = state["board"]["food"]

    def steps(name):
        x, y = moves[name]
        return min((abs(x - piece["x"]) + abs(y - piece["y"]) for piece in food), default=0)

    return {"move": min(moves, key=steps)}
