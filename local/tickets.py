"""What happens in the demonstration: customers, their orders, and what they write."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scene:
    """One ticket to be: what was paid, what is wanted, and how the vendor is going to behave (`fault`)."""

    paid: str
    currency: str
    text: str
    amount: str | None = None
    wants: str = "money"
    sku: str = "MUG-BLUE"
    quantity: int = 1
    writes_back: bool = False
    status: str = "delivered"
    fault: str = ""

    @property
    def waits(self) -> bool:
        """Whether a person is going to be asked: a letter, or money above the limit of a hundred."""
        return self.writes_back or (self.wants == "money" and float(self.amount or self.paid) > 100)


#: In the order of the first burst: what a newcomer should see first comes first.
SCENES = (
    Scene("184.50", "EUR", "The espresso machine leaks since the second day. I want my money back."),
    Scene("18.90", "EUR", "The mug came with a crack in its handle."),
    Scene("32.00", "EUR", "Wrong colour, sent back last week.", writes_back=True),
    Scene("59.00", "EUR", "The lamp flickers. Please send another one.", wants="replacement", sku="LAMP-OAK"),
    Scene("74.00", "EUR", "One of the two cushions is stained.", amount="37.00", fault="drop"),
    Scene("12800", "JPY", "The teapot arrived broken."),
    Scene("7.250", "KWD", "Delivered twice, I pay for one."),
    Scene(
        "26.50",
        "EUR",
        "The notebook is ruled, I ordered blank.",
        wants="replacement",
        sku="NOTE-A5",
        quantity=2,
        writes_back=True,
    ),
    Scene("96.00", "EUR", "The kettle never came.", fault="error"),
    Scene("249.00", "EUR", "The chair is the wrong height; two screws are missing.", amount="120.00"),
    Scene(
        "41.20", "EUR", "I cancelled this order before it was sent, and want the money.", status="cancelled"
    ),
    Scene("15.00", "EUR", "A candle was missing in the box of six.", amount="2.50"),
    Scene("38.00", "EUR", "The vase is chipped.", wants="replacement", sku="VASE-GREEN", fault="drop"),
    Scene("64.90", "EUR", "The scarf lost its colour in the first wash.", writes_back=True),
    Scene("22.40", "EUR", "Two of the cups have a hairline crack.", amount="11.20", fault="hang"),
)

#: An order that nobody has complained about yet: the reader of the README is the first.
EXAMPLE = Scene("40.00", "EUR", "")

_FIRST = (
    "Ines",
    "Tomasz",
    "Aiko",
    "Bram",
    "Leila",
    "Noor",
    "Piet",
    "Yusuf",
    "Clara",
    "Ondrej",
    "Maeve",
    "Hana",
)
_LAST = ("Silva", "Nowak", "Tanaka", "Visser", "Haddad", "Lindgren", "Moreau", "Kaya", "Fischer", "Byrne")


def customer(chance: random.Random) -> tuple[str, str]:
    """Return a customer's id and address. Many names, so that sums by customer stay small, and some come back."""
    first, last = chance.choice(_FIRST), chance.choice(_LAST)
    number = chance.randrange(1_000, 10_000)
    return f"cus_{last.lower()}{number}", f"{first}.{last}{number}@example.org".lower()


def order(scene: Scene, name: str, who: tuple[str, str], charge: str) -> dict[str, Any]:
    """Return the order of a scene as the shop knows it."""
    return {
        "customer": who[0],
        "email": who[1],
        "charge": charge,
        "amount": scene.paid,
        "currency": scene.currency,
        "items": [{"sku": scene.sku, "quantity": scene.quantity}],
        "status": scene.status,
    }


def ticket(scene: Scene, name: str, who: tuple[str, str]) -> dict[str, Any]:
    """Return a scene as the refund desk's input."""
    written: dict[str, Any] = {"order": name, "wants": scene.wants, "text": scene.text}
    if scene.amount is not None:
        written["amount"] = scene.amount
    if scene.writes_back:
        written["reply_to"] = who[1]
    return written
