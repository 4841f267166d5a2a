"""Files that a message brings along: named in it, found, read, and framed for the model."""
