"""`kubectl campaign`: a plugin of kubectl. What a person asks in; objects, orders and the console's answers out.

    main.py        the table of the commands, and the one place where errors end
    kubectl.py     talks to the API server, through the kubectl that is there: whoever may sign in there may here
    console.py     talks to Sendonce's console, for what is about single people; finding.py finds it, tokens.py signs in
    orders.py      what a lever orders, as a NotificationAction   pure
    waiting.py     follows an order to its end
    showing/       what is printed                                 pure

It knows none of the other packages: the plugin is one file with these modules and click (`python -m tools.plugin`).
"""
