import unittest

import main
from positions import state


class Food(unittest.TestCase):
    def test_goes_for_the_nearest_food(self):
        self.assertEqual(main.move(state([(4, 5), (3, 5), (2, 5)], food=((6, 5), (0, 10))))["move"], "right")
