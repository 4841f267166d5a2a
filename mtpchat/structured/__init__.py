"""What an answer has to look like: JSON schemas and grammars as people write them, made into one grammar."""
