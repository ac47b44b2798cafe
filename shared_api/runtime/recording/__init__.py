"""Events for people, with a budget."""
