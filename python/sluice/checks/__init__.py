"""What compares a model of Sluice with another engine on the same machine. Nothing of the package imports it."""
