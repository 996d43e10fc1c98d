"""Configuration of engines that spread requests over several daemons: `python -m sluice.cluster --help`.

A cluster's engine places daemons and routes requests; nothing here does. docs/scale.md says which engines were tested.
"""
