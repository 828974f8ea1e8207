"""The rate limiter and the caps of partitions."""
