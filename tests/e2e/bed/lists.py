"""Pages of JSON lists: moto answers ListClusters, ListServices and Lambda's lists whole, whatever is asked."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from bed.shapes import Call


class PagingError(ValueError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Listing:
    items: str  # the member that holds them
    size: str  # the parameter that asks for a size
    default: int
    maximum: int
    lenient: bool  # more than the maximum may be asked for, and is not given
    token: str
    next_token: str
    bad_token: str


def _ecs(items: str, default: int) -> Listing:
    return Listing(items, "maxResults", default, 100, False, "nextToken", "nextToken", "InvalidParameterException")


def _lambda(items: str) -> Listing:
    return Listing(items, "MaxItems", 50, 50, True, "Marker", "NextMarker", "InvalidParameterValueException")


LISTINGS = {
    "ecs:ListClusters": _ecs("clusterArns", 100),
    "ecs:ListServices": _ecs("serviceArns", 10),
    "lambda:ListFunctions": _lambda("Functions"),
    "lambda:ListAliases": _lambda("Aliases"),
    "lambda:ListVersionsByFunction": _lambda("Versions"),
}


@dataclass
class _Rest:
    """What a token stands for: the rest of a list as it was, for the same question."""

    question: dict[str, Any]
    items: list[Any]


class ListPager:
    """`caps` lowers the size of a page below what was asked for, which AWS may do at any time."""

    def __init__(self, caps: dict[str, int]) -> None:
        self.caps = caps
        self._rests: dict[str, _Rest] = {}

    def clear(self) -> None:
        self._rests.clear()

    def check(self, call: Call) -> None:
        """PagingError for a size or a token that AWS does not take."""
        listing = LISTINGS.get(call.name)
        if listing is None:
            return
        size = call.params.get(listing.size, listing.default)
        if size < 1 or (size > listing.maximum and not listing.lenient):
            raise PagingError(listing.bad_token, f"{listing.size} {size} is not between 1 and {listing.maximum}")
        token = call.params.get(listing.token)
        if token is None:
            return
        rest = self._rests.get(token)
        if rest is None or rest.question != _question(call, listing):
            raise PagingError(listing.bad_token, "the token is not one that was given out for this list")

    def answer(self, call: Call, body: bytes) -> bytes:
        """moto's answer, cut into pages."""
        listing = LISTINGS.get(call.name)
        if listing is None:
            return body
        size = min(call.params.get(listing.size, listing.default), listing.maximum, self.caps.get(call.name, listing.maximum))
        document = json.loads(body)
        token = call.params.get(listing.token)
        items = self._rests[token].items if token else document[listing.items]
        document[listing.items] = items[:size]
        if items[size:]:
            document[listing.next_token] = secrets.token_urlsafe(60) + "=="
            self._rests[document[listing.next_token]] = _Rest(_question(call, listing), items[size:])
        return json.dumps(document).encode()


def _question(call: Call, listing: Listing) -> dict[str, Any]:
    return {key: value for key, value in call.params.items() if key not in (listing.token, listing.size)}
