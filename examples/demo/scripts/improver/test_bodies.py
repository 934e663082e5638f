import unittest

import main
from positions import state


class Moves(unittest.TestCase):
    def test_leaves_a_corner_by_the_only_way(self):
        self.assertEqual(main.move(state([(0, 0), (1, 0), (2, 0)]))["move"], "up")

    def test_does_not_run_into_a_rival(self):
        position = state([(0, 5), (0, 4), (0, 3)], [(1, 7), (1, 6), (1, 5), (1, 4)])
        self.assertEqual(main.move(position)["move"], "up")
