"""Write results as text, Markdown, HTML and rich tables."""
