"""Measuring and proving: `mtpchat verify`, `mtpchat bench` and `mtpchat tune` without their printing.

Drives the synchronous engine directly, one turn after another. Knows no screen; figures go out as plain records.
"""
