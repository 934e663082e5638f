"""Plays the bot against the one of the round before: python3 practice.py [matches].

The rules in short: walls, bodies, heads, hunger, food. Exit code 1 if the new bot gets less than half the points.
"""

import random
import sys

import main
import previous

SIZE = 11
BOTS = (main.move, previous.move)


def request(snakes, food, you):
    """What the arena would send to snake `you`."""
    points = [[{"x": x, "y": y} for x, y in snake["body"]] for snake in snakes]
    shown = [
        {"id": str(n), "health": snake["health"], "body": body, "head": body[0], "length": len(body)}
        for n, (snake, body) in enumerate(zip(snakes, points))
    ]
    pieces = [{"x": x, "y": y} for x, y in food]
    return {"board": {"width": SIZE, "height": SIZE, "food": pieces, "hazards": [], "snakes": shown}, "you": shown[you]}


def dead(snake, rival):
    """Whether `snake` has lost, after both have moved."""
    (x, y), body = snake["body"][0], snake["body"]
    if snake["health"] <= 0 or not (0 <= x < SIZE and 0 <= y < SIZE):
        return True
    if (x, y) in body[1:] or (x, y) in rival["body"][1:]:
        return True
    return (x, y) == rival["body"][0] and len(body) <= len(rival["body"])


def play(seed):
    """Points of the new bot in one match: 1, 0.5 or 0."""
    random.seed(seed)
    corners = random.sample([(1, 1), (1, 9), (9, 1), (9, 9)], 2)
    snakes = [{"body": [corner] * 3, "health": 100} for corner in corners]
    food = [(5, 5)]
    for _ in range(300):
        moves = [bot(request(snakes, food, n))["move"] for n, bot in enumerate(BOTS)]
        for snake, name in zip(snakes, moves):
            dx, dy = main.STEPS[name]
            x, y = snake["body"][0]
            snake["body"] = [(x + dx, y + dy), *snake["body"][:-1]]
            snake["health"] -= 1
        for snake in snakes:
            if snake["body"][0] in food:
                snake["health"] = 100
                snake["body"].append(snake["body"][-1])
        food = [piece for piece in food if all(piece != snake["body"][0] for snake in snakes)]
        if not food or random.random() < 0.15:
            taken = {part for snake in snakes for part in snake["body"]}
            food.append(random.choice([(x, y) for x in range(SIZE) for y in range(SIZE) if (x, y) not in taken]))
        lost = [dead(snakes[0], snakes[1]), dead(snakes[1], snakes[0])]
        if any(lost):
            return 0.5 if all(lost) else float(lost[1])
    return 0.5


if __name__ == "__main__":
    matches = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    points = sum(play(seed) for seed in range(matches))
    print(f"{points:g} of {matches} points against the bot of the round before")
    sys.exit(points < matches / 2)
