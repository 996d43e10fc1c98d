"""What the standard lets attributes be."""
