"""Takes, renews and frees slots of partition caps (slot.py); frees orphaned slots (audit.py)."""
