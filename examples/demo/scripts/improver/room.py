"""Keeps room: judges a move by the squares it would reach before any rival, and eats when hungry or short."""

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
HUNGRY = 40  # health below which food comes before room to spare
LEAD = 2  # keep eating until this much longer than every rival


def around(square):
    """The four neighbours of a square, name to square."""
    x, y = square
    return {name: (x + dx, y + dy) for name, (dx, dy) in STEPS.items()}


def head(snake):
    """Square of a snake's head."""
    return snake["head"]["x"], snake["head"]["y"]


def free_squares(state):
    """Squares of the board without a body on them. A tail moves on, so its square is free."""
    board = state["board"]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"][:-1]}
    return {(x, y) for x in range(board["width"]) for y in range(board["height"])} - taken


def deadly(state, rivals):
    """Squares that a snake as long as we are, or longer, may step on now."""
    stronger = [snake for snake in rivals if snake["length"] >= state["you"]["length"]]
    return {square for snake in stronger for square in around(head(snake)).values()}


def room(square, rivals, free):
    """Squares that we reach from `square` before any rival does; those reached at once are nobody's."""
    free = free - {square}
    ours, theirs, count = {square}, {head(snake) for snake in rivals}, 1
    while ours:
        ours = {near for spot in ours for near in around(spot).values() if near in free}
        theirs = {near for spot in theirs for near in around(spot).values() if near in free}
        free -= ours | theirs
        ours -= theirs
        count += len(ours)
    return count


def to_food(square, state):
    """Steps from `square` to the nearest food, bodies left out of account."""
    x, y = square
    return min((abs(x - piece["x"]) + abs(y - piece["y"]) for piece in state["board"]["food"]), default=0)


def move(state):
    you = state["you"]
    rivals = [snake for snake in state["board"]["snakes"] if snake["id"] != you["id"]]
    free, danger = free_squares(state), deadly(state, rivals)
    moves = {name: square for name, square in around(head(you)).items() if square in free}
    eats = you["health"] < HUNGRY or you["length"] < LEAD + max((snake["length"] for snake in rivals), default=0)

    def value(name):
        square = moves[name]
        reach, steps = room(square, rivals, free), to_food(square, state)
        # Room beyond twice our length buys little; below it, we are being shut in.
        shut_in = min(reach, 2 * you["length"])
        return square not in danger, shut_in, -steps if eats else reach, -steps

    return {"move": max(moves, key=value, default="up")}
