"""What one customer buys."""

from bakery.products import PRODUCTS, Product


class Basket:
    """Products and how many pieces of each."""

    def __init__(self) -> None:
        self._pieces: dict[str, int] = {}

    def add(self, name: str, pieces: int = 1) -> None:
        """Put `pieces` of a product into the basket."""
        if name not in PRODUCTS:
            raise ValueError(f"we do not sell {name!r}; we have {', '.join(PRODUCTS)}")
        if pieces < 1:
            raise ValueError("at least one piece, please")
        self._pieces[name] = self._pieces.get(name, 0) + pieces

    def lines(self) -> list[tuple[Product, int]]:
        """Return each product with its number of pieces, in the order bought."""
        return [(PRODUCTS[name], pieces) for name, pieces in self._pieces.items()]

    def pieces(self) -> int:
        """Return how many pieces are in the basket."""
        return len(self._pieces)

    def subtotal(self) -> int:
        """Return the price in cents before any discount."""
        return sum(product.price * pieces for product, pieces in self.lines())
