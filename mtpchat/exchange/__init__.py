"""Chats in files of this and other programs: one module per format, from bytes to plain values and back."""
