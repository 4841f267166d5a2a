"""Guessing by memory: what followed the last times these tokens stood in the prompt or in the answer?

Prompt lookup decoding (Saxena, 2023): no model, no cost but that of verifying. It pays where text is copied: edited
code, quotes, tables, lists.

All earlier places with the same ending have a vote; the longest match decides, then their number, then the latest. How
long the match is and how far the places agree make up the confidence. It grows with every guess, because a guess that
holds makes the match longer, and jumps when the places part. The policy learns how often each confidence is right.

An example, with letters for tokens and a shortest match of two: in "x a b c … y a b d … y a b" the ending "a b" stood
twice before. Behind it came "c" once and "d" once; the second place matches "y a b", which is longer: "d" is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, FromContext, Parts, Strategy, Wants

KIND = "ngram"
_CANDIDATES = 16
"""How many earlier places with the same ending are compared, the latest first."""
_LONGEST = 32
"""A longer match than this says nothing more."""
_CLASSES = (4, 6, 9, 16)
"""Match lengths from which on a match counts as longer; shorter ones make up the first class."""

_Place = tuple[Sequence[int], int, int]
"""A text, the position in it that follows the match, and the match's length."""


class NgramDrafter(FromContext):
    """Continues the longest earlier match of the context's ending.

    Args:
        shortest: fewest tokens that must match.
        earlier: texts of other chats that may be continued, too.
    """

    def __init__(self, shortest: int = 3, earlier: Sequence[Sequence[int]] = ()) -> None:
        self._shortest = shortest
        self._followers: dict[tuple[int, ...], list[int]] = {}
        self._keys: list[tuple[int, ...]] = []
        self._indexed = 0
        self._elsewhere: dict[tuple[int, ...], list[tuple[Sequence[int], int]]] = {}
        for text in earlier:
            for end in range(shortest, len(text)):
                self._elsewhere.setdefault(tuple(text[end - shortest : end]), []).append((text, end))

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        self._index(context)
        places = self._places(context)
        tokens: list[int] = []
        confidences: list[float] = []
        while places and wants(confidences):
            made = len(tokens)
            votes = [_ahead(place, made, context, tokens) for place in places]
            token, share = _elect(votes, places)
            if token < 0:
                break
            tokens.append(token)
            confidences.append(_confidence(places[0][2] + made, len(places), share))
            if share < 1:
                places = [place for place, vote in zip(places, votes, strict=True) if vote == token]
        return Draft(tuple(tokens), tuple(confidences)) if tokens else NO_DRAFT

    def _index(self, context: Sequence[int]) -> None:
        """Note for every run of `shortest` tokens which position follows it; the context's own ending stays out."""
        size = self._shortest
        for end in range(max(self._indexed, size), len(context)):
            key = tuple(context[end - size : end])
            self._followers.setdefault(key, []).append(end)
            self._keys.append(key)
        self._indexed = max(self._indexed, len(context))

    def _places(self, context: Sequence[int]) -> list[_Place]:
        """Earlier places with the same ending, the longest match first, among equals the latest."""
        if len(context) < self._shortest:
            return []
        key = tuple(context[-self._shortest :])
        found = [(context, at) for at in self._followers.get(key, ())[-_CANDIDATES:]]
        if not found:
            found = self._elsewhere.get(key, [])[-_CANDIDATES:]
        places = [(text, at, self._match_length(context, text, at)) for text, at in reversed(found)]
        places.sort(key=_length, reverse=True)
        return places

    def _match_length(self, context: Sequence[int], text: Sequence[int], follower: int) -> int:
        length, end = self._shortest, len(context) - 1
        most = min(_LONGEST, follower, len(context))
        while length < most and text[follower - 1 - length] == context[end - length]:
            length += 1
        return length

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        while self._keys and self._shortest + len(self._keys) > length:
            self._followers[self._keys.pop()].pop()
        self._indexed = min(self._indexed, length)
        return length

    def close(self) -> None:
        """See Drafter.close."""
        self._followers.clear()
        self._keys.clear()
        self._indexed = 0


def _length(place: _Place) -> int:
    return place[2]


def _ahead(place: _Place, made: int, context: Sequence[int], tokens: Sequence[int]) -> int:
    """The token `made` places behind the match; -1 past the end of another text."""
    text, follower, _ = place
    at = follower + made
    if at < len(text):
        return text[at]
    # Past the end of the context the guesses themselves go on: a loop is its own continuation.
    return tokens[at - len(context)] if text is context else -1


def _elect(votes: Sequence[int], places: Sequence[_Place]) -> tuple[int, float]:
    """The token that the longest match wants, and its share of the votes, each weighed by the length of its match."""
    first = votes[0]
    if all(vote == first for vote in votes):
        return first, 1.0
    longest = places[0][2]
    ballots: dict[int, int] = {}
    for vote, (_, _, length) in zip(votes, places, strict=True):
        ballots[vote] = ballots.get(vote, 0) + length
    leaders = [vote for vote, place in zip(votes, places, strict=True) if place[2] == longest]
    token = max(leaders, key=lambda vote: ballots[vote])  # the first, which is the latest, wins a tie
    return token, ballots[token] / sum(ballots.values())


def _confidence(match_length: int, places: int, share: float) -> float:
    """Evidence on the logit scale, in steps as wide as the bins of the budget: each kind of evidence is a bin."""
    steps = sum(match_length >= length for length in _CLASSES)
    if share < 1:
        steps -= 1 if share >= 0.6 else 2
    elif places > 1:
        steps += 1
    return 1 / (1 + math.exp(1.0 - 0.8 * steps))


def _build(parts: Parts) -> Drafter | None:
    return NgramDrafter(parts.settings.ngram_min, parts.earlier)


STRATEGY = Strategy(KIND, "continues text that stood in the chat before; costs nothing when it does not", _build)
