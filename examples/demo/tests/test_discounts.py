import unittest

from bakery import Basket
from bakery.discounts import discount, total


class DiscountTest(unittest.TestCase):
    def test_a_few_pieces_cost_the_full_price(self) -> None:
        basket = Basket()
        basket.add("roll", 11)
        self.assertEqual(discount(basket), 0)

    def test_a_dozen_rolls_are_ten_percent_off(self) -> None:
        basket = Basket()
        basket.add("roll", 12)
        self.assertEqual(total(basket), 486)


if __name__ == "__main__":
    unittest.main()
