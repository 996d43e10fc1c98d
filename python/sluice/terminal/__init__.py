"""What a terminal shows while the library works."""
