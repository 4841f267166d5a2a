"""Which model files are on this machine, what they are, and which drafter belongs to which model."""
