"""A short run of the fuzzer."""

import fuzz
from support import random_seed


def test_some_inputs():
    assert fuzz.fuzz(random_seed(), count=1500) == 1500
