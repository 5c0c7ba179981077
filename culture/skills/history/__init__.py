"""The history skill: everything that was said, for those who may read it."""
