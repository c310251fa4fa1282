"""What is taken off the price."""

from bakery.basket import Basket
from bakery.money import percent_of

DOZEN = 12
DOZEN_PERCENT = 10


def discount(basket: Basket) -> int:
    """Return the discount in cents: ten percent for a dozen pieces or more, of whatever kind."""
    if basket.pieces() >= DOZEN:
        return percent_of(basket.subtotal(), DOZEN_PERCENT)
    return 0


def total(basket: Basket) -> int:
    """Return what the customer pays, in cents."""
    return basket.subtotal() - discount(basket)
