"""The slip of paper that the customer gets."""

from bakery.basket import Basket
from bakery.discounts import discount, total
from bakery.money import written

WIDTH = 32


def receipt(basket: Basket) -> str:
    """Return the receipt: one line for each product, the discount if there is one, the total."""
    rows = [
        (f"{pieces} x {product.name}", written(product.price * pieces)) for product, pieces in basket.lines()
    ]
    if taken_off := discount(basket):
        rows.append(("dozen discount", written(-taken_off)))
    rows.append(("TOTAL", written(total(basket))))
    return "\n".join(f"{label}{amount:>{WIDTH - len(label)}}" for label, amount in rows)
