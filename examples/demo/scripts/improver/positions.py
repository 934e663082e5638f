"""Builds positions for the tests."""


def state(body, *rivals, food=((5, 5),), health=90):
    """A request: bodies as lists of squares, head first; `body` is ours."""

    def snake(name, squares):
        points = [{"x": x, "y": y} for x, y in squares]
        return {"id": name, "health": health, "body": points, "head": points[0], "length": len(points)}

    snakes = [snake("us", body), *(snake(f"rival{n}", squares) for n, squares in enumerate(rivals))]
    pieces = [{"x": x, "y": y} for x, y in food]
    return {"board": {"width": 11, "height": 11, "food": pieces, "hazards": [], "snakes": snakes}, "you": snakes[0]}
