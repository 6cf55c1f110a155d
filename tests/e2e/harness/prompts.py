"""Prompts of an exact number of tokens, or of text."""

import random

# Token ids that are plain text both in the default model and in the tiny ones, whose vocabulary begins like it; and
# bytes that can be printed in the fake model.
TEXT_TOKENS = range(300, 2000)
FAKE_TOKENS = range(33, 127)


def prompt_tokens(n: int, seed: int = 1, fake: bool = False) -> list[int]:
    """n tokens; another seed gives another beginning, so that nobody shares a prefix."""
    return random.Random(seed).choices(FAKE_TOKENS if fake else TEXT_TOKENS, k=n)


def numbers_prompt(n_words: int, seed: int = 1) -> str:
    """Text of about 1.3 tokens for each word, with the default model."""
    words = "river stone light paper garden winter letter music ocean market silver bridge".split()
    source = random.Random(seed)
    return f"Story number {seed}. " + " ".join(source.choice(words) for _ in range(n_words))
