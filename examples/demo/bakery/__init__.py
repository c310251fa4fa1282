"""The till of a small bakery: products, a basket, discounts and a receipt."""

from bakery.basket import Basket
from bakery.receipt import receipt

__all__ = ["Basket", "receipt"]
