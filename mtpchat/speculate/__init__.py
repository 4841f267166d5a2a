"""Speculative decoding as a library that knows neither llama.cpp nor the screen.

Read in this order: `verify` (what is kept), `controller` (one step: propose, decode, verify, roll back), `base` (what a
drafter is), the drafters (`ngram`, `draft_model`, `mtp`), then `budget` (how far to guess) with its two notebooks,
`costs` (milliseconds) and `acceptance` (hits).
"""
