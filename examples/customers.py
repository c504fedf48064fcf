"""Write realistic tables of customers: text, dates, booleans, empty cells, row numbers.

python examples/customers.py TRAIN.csv NEW.csv
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta

CITIES = "Bern", "Lima", "Oslo", "Rome"
TITLES = [
    "customer",
    "city",
    "since",
    "newsletter",
    "orders",
    "spent",
    *(f"clicks{i}" for i in range(12)),
    "plan",
]


def customer(number: int, chance: random.Random) -> list[object]:
    """Return one line; the plan depends on the city, the newsletter and the amount spent."""
    city, newsletter, spent = chance.choice(CITIES), chance.random() < 0.5, chance.gauss(100, 25)
    since = date(2024, 1, 1) + timedelta(days=chance.randrange(700))
    plan = "family" if city == "Oslo" else "plus" if spent + 30 * newsletter > 115 else "basic"
    shown = "" if chance.random() < 0.05 else f"{spent:.2f}"
    clicks = [chance.randrange(10) for _ in range(12)]
    return [number, city, since.isoformat(), newsletter, chance.randrange(40), shown, *clicks, plan]


def main() -> None:
    chance = random.Random(0)
    for path, first, last in ((sys.argv[1], 1, 800), (sys.argv[2], 801, 1_000)):
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(TITLES)
            lines.writerows(customer(number, chance) for number in range(first, last + 1))


if __name__ == "__main__":
    main()
