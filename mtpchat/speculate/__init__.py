"""Speculative decoding as a library that knows neither llama.cpp nor the screen. Read it in this order.

What happens in a step; ten minutes, and all that is needed to follow the rest of the program:

    verify        which guesses are kept: sample-and-match, and why it changes no text
    controller    one step: propose, decode, verify, roll back, learn
    base          what a drafter is, and how the kinds are found
    none, ngram, draft_model, mtp, eagle3        one file for each kind; draft_model is what papers describe
    guessing      from a drafter's logits to a guess, with the noise that the answer is drawn with
    forced        guesses that cannot be wrong: what a grammar dictates
    proposal, memo, limits        the guesses of a step; what a drafter leaves for another run; how deep one may go

How far to guess; another ten minutes. The formulas, their sources and the bound on losses: docs/speculation.md.

    policy        the words for it, and the simplest policy: always as deep as allowed
    threshold     the one known from articles, which knows no costs
    adaptive      the default: one more guess while it is worth its measured price
    worth         the arithmetic of that rule
    costs         seconds of a step of so many rows, and of a guess
    acceptance, calibration        how often guesses are right: by position and confidence; by temperature
    ramp          how far copies are trusted in this answer
    ledger        what all of this may lose at most
    probing       when to try although it does not seem to pay
    ruling        what is decided in one round, and the reason

For whoever looks, and for the next run:

    decisions, meter, reporting        reasons in words, counters, both as a report
    learned       what is kept on disk

Nothing here reads a clock or a random source by itself: time comes in as a function or as numbers, so that every rule
can be played in a simulation (benchmarks/budget_simulation.py) and its promises are unit tests.
"""
