"""Laws are tried on many cases; how long one takes is no law."""

from hypothesis import settings

settings.register_profile("laws", deadline=None, max_examples=60)
settings.load_profile("laws")
