"""What all pages share: routes, headers, errors, templates, static files."""
