"""Goes for food, out of every body, and never where it could meet a head it would lose to."""

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def around(square):
    """The four neighbours of a square, name to square."""
    x, y = square
    return {name: (x + dx, y + dy) for name, (dx, dy) in STEPS.items()}


def head(snake):
    """Square of a snake's head."""
    return snake["head"]["x"], snake["head"]["y"]


def open_moves(state):
    """Moves that do not kill at once, name to square. A tail moves on, so its square is free."""
    board = state["board"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    return {
        name: (x, y)
        for name, (x, y) in around(head(state["you"])).items()
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken
    }


def deadly(state):
    """Squares that a snake as long as we are, or longer, may step on now."""
    you, snakes = state["you"], state["board"]["snakes"]
    stronger = [snake for snake in snakes if snake["id"] != you["id"] and snake["length"] >= you["length"]]
    return {square for snake in stronger for square in around(head(snake)).values()}


def to_food(square, state):
    """Steps from `square` to the nearest food, bodies left out of account."""
    x, y = square
    return min((abs(x - piece["x"]) + abs(y - piece["y"]) for piece in state["board"]["food"]), default=0)


def move(state):
    moves, danger = open_moves(state), deadly(state)
    return {"move": min(moves, key=lambda name: (moves[name] in danger, to_food(moves[name], state)), default="up")}
