"""What is for sale. Prices are whole cents, so that no sum is ever off by a rounding error."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    name: str
    price: int


_ALL = (
    Product("roll", 45),
    Product("croissant", 160),
    Product("rye bread", 420),
    Product("apple cake", 2850),
)

PRODUCTS = {product.name: product for product in _ALL}
