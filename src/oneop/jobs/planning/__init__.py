"""From a traced function to steps over planned memory, and plans for people to look at."""
