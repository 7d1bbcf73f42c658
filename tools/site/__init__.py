"""The site of docs/: pages are staged, links that lead out of docs/ become text, and zensical builds the rest."""
