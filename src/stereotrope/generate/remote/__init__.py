"""Generators behind an HTTP endpoint: OpenAI-shaped images, Google's Gemini and Imagen, Replicate."""
