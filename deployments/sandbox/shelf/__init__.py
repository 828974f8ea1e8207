"""A provider that is nobody's: every way of paging, and every way in which paging goes wrong, by a switch."""
