"""The pictures of docs/console.md, made anew from a real run on this machine: nobody in them exists."""
