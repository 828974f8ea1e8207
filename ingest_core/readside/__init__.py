"""What people take out: stored rows as files, in the formats their tools read."""
