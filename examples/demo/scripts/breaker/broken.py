"""Out of walls and bodies, towards food - nearly."""

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def open_moves(state):
    board, head = state["board"], state["you"]["head"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    squares = {name: (head["x"] + dx, head["y"] + dy) for name, (dx, dy) in STEPS.items()}
    return {
        name: (x, y)
        for name, (x, y) in squares.items()
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken
    }


def to_food(square, state):
    x, y = square
    return min((abs(x - piece["x"]) + abs(y - piece["y"]) for piece in state["board"]["food"], default=0)


def move(state):
    moves = open_moves(state)
    return {"move": min(moves, key=lambda name: to_food(moves[name], state), default="up")}
