import unittest

import main
from positions import state


class Room(unittest.TestCase):
    def test_does_not_take_food_in_a_dead_end(self):
        wall = [(3, 1), (2, 1), (1, 1), (0, 1)]
        position = state([(4, 0), (5, 0), (6, 0), (7, 0), (7, 1), (7, 2)], [*wall, (0, 2)], food=((3, 0),))
        self.assertEqual(main.move(position)["move"], "up")
