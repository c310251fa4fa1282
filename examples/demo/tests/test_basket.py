import unittest

from bakery import Basket


class BasketTest(unittest.TestCase):
    def test_the_same_product_twice_is_one_line(self) -> None:
        basket = Basket()
        basket.add("roll", 2)
        basket.add("roll", 3)
        self.assertEqual([(product.name, pieces) for product, pieces in basket.lines()], [("roll", 5)])

    def test_the_subtotal_is_the_sum_of_all_lines(self) -> None:
        basket = Basket()
        basket.add("croissant", 2)
        basket.add("rye bread")
        self.assertEqual(basket.subtotal(), 740)

    def test_what_we_do_not_sell_cannot_be_added(self) -> None:
        with self.assertRaisesRegex(ValueError, "we do not sell 'pizza'"):
            Basket().add("pizza")


if __name__ == "__main__":
    unittest.main()
