"""``python -m sendonce_cli.simulate``: the far end without the rest of the command line."""

from sendonce_cli.simulate.command import simulate_command

if __name__ == "__main__":
    simulate_command()
