"""Free squares first, then the middle of the board."""

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def score(square, state):
    x, y = square
    return abs(x - state["board"]["width"] // 2) + abs(y - state["board"]["height"] // 2)


def move(state):
    board, head = state["board"], state["you"]["head"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"]}
    squares = {name: (head["x"] + dx, head["y"] + dy) for name, (dx, dy) in STEPS.items()}
    free = [
        name
        for name, (x, y) in squares.items()
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken
    ]
    return {"move": min(free, key=lambda name: score(squares[name], state), default="up")}
