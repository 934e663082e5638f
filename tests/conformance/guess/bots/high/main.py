import random


class Bot:
    def move(self, state):
        return {"pick": random.randrange(50, 100)}


move = Bot
