import hypothesis
import pytest

# Some examples walk a whole datagram: how long one takes says nothing.
hypothesis.settings.register_profile("codec", max_examples=300, deadline=None, print_blob=True)
hypothesis.settings.load_profile("codec")

pytest.register_assert_rewrite("compare", "support")
