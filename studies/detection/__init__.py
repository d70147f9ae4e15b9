"""How often a review finds an injected regression, and how often it raises a false alarm."""
