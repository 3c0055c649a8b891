"""Reads cases directories, asks the program, and judges its answers: what tests/run-cases and tests/run-prometheus share."""
