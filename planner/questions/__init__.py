"""Questions asked of plans: will it fit, how many nodes, which variant costs what."""
