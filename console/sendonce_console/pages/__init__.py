"""The pages for people, by subject. Each module has a table `routes`."""
