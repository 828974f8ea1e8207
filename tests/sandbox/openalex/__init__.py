"""The sandbox's OpenAlex."""
