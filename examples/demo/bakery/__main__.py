"""Prints a receipt: `python3 -m bakery roll=12 croissant=2`."""

import sys

from bakery import Basket, receipt


def main(arguments: list[str]) -> int:
    basket = Basket()
    for argument in arguments:
        name, _, pieces = argument.partition("=")
        try:
            basket.add(name, int(pieces or 1))
        except ValueError as error:
            print(f"bakery: {error}", file=sys.stderr)
            return 2
    print(receipt(basket))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
