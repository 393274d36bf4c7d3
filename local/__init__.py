"""Everything on one machine: PostgreSQL, a broker, the vendor's stand-in, and the supervisor behind `manage.py up`.

Nothing of the engine imports it. In production its place is taken by real services, named in the environment.
"""
