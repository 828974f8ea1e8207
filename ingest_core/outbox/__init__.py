"""Telling others what changed: messages that commit with a page, and the relay that sends them on."""
