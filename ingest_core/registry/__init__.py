"""Reads source files into `reg_*` rows, and compiles these (compile.py) into what requests are rendered from."""
