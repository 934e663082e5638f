import unittest

import main
from positions import state


class Heads(unittest.TestCase):
    def test_gives_way_to_a_longer_snake(self):
        position = state([(4, 5), (3, 5), (2, 5)], [(6, 5), (7, 5), (8, 5), (9, 5)], food=((5, 5),))
        self.assertNotEqual(main.move(position)["move"], "right")
