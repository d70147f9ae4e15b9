"""Write results as text, Markdown and rich tables."""
