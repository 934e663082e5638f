"""Straight to the nearest food, around bodies and walls, with no thought for the turn after."""

STEPS = (("up", 0, 1), ("down", 0, -1), ("left", -1, 0), ("right", 1, 0))


def move(state):
    board, head = state["board"], state["you"]["head"]
    width, height = board["width"], board["height"]
    wrapped = state["game"]["ruleset"]["name"] == "wrapped"
    taken = {(p["x"], p["y"]) for snake in board["snakes"] for p in snake["body"][:-1]}
    hazards = {(p["x"], p["y"]) for p in board["hazards"]}
    food = [(p["x"], p["y"]) for p in board["food"]]

    def distance(a, b):
        dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
        return min(dx, width - dx) + min(dy, height - dy) if wrapped else dx + dy

    best, best_cost = "up", None
    for name, dx, dy in STEPS:
        x, y = head["x"] + dx, head["y"] + dy
        if wrapped:
            x, y = x % width, y % height
        if not (0 <= x < width and 0 <= y < height) or (x, y) in taken:
            continue
        cost = min((distance((x, y), piece) for piece in food), default=0) + 8 * ((x, y) in hazards)
        if best_cost is None or cost < best_cost:
            best, best_cost = name, cost
    return {"move": best}
