import random


def move(state):
    return {"pick": random.randrange(50)}
