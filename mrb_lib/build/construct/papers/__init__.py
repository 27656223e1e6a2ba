"""What is told of a released benchmark: a card for people, and a description for machines."""
