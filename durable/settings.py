"""All settings. Each is read from the environment by a typed reader that refuses a bad value in one line."""

from __future__ import annotations

import base64
import os
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF

from durable.env import (
    BASE_DIR,
    INTERLOCK_DATA,
    MISSING,
    env_bool,
    env_int,
    env_key,
    env_list,
    env_seconds,
    env_secret,
    env_str,
    env_url,
    env_zone,
)

#: How the server plans what pages ask. People ask with other values each time: a plan for all values would miss the
#: index that is there for these. To start helpers, or to compile a plan, takes longer than nearly any answer.
_PAGE_PLANS = {"plan_cache_mode": "force_custom_plan", "max_parallel_workers_per_gather": "0", "jit": "off"}


def database(url: str, *, pool: int, persistent: bool, idle: timedelta | None = None) -> dict[str, Any]:
    """Django's settings for one role. A pool where many requests share a process, else one connection that is kept.

    The server ends a transaction that rests for longer than `idle`: a process that was stopped inside one holds locks.
    """
    # Without an address nobody listens: only commands that need no database come this far (`checks.require_services`).
    found: dict[str, Any] = {**dj_database_url.parse(url or "postgresql://nobody@127.0.0.1:1/none")}
    found["CONN_MAX_AGE"] = None if persistent and not pool else 0
    found["CONN_HEALTH_CHECKS"] = True
    found.setdefault("OPTIONS", {}).update(server_side_binding=True, prepare_threshold=5, connect_timeout=5)
    # Whatever the server's default: only a statement that may be lazy says so itself.
    given = found["OPTIONS"].get("options", "")
    rests = (
        "" if idle is None else f" -c idle_in_transaction_session_timeout={idle // timedelta(milliseconds=1)}"
    )
    plans = "".join(f" -c {name}={value}" for name, value in _PAGE_PLANS.items()) if pool else ""
    found["OPTIONS"]["options"] = f"{given} -c synchronous_commit=on{rests}{plans}".strip()
    if pool:
        # A web process has more threads than it needs connections: they share these few.
        found["OPTIONS"]["pool"] = {"min_size": 1, "max_size": pool, "timeout": 5}
    return found


# The deployment.
DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env_secret("DJANGO_SECRET_KEY")
if not SECRET_KEY:
    MISSING.append("DJANGO_SECRET_KEY")
    SECRET_KEY = base64.b64encode(os.urandom(48)).decode()
PUBLIC_URL = env_url("INTERLOCK_PUBLIC_URL", "http://127.0.0.1:8000", schemes=("http", "https")).rstrip("/")
ALLOWED_HOSTS = env_list(
    "ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]", urlsplit(PUBLIC_URL).hostname or "")
)
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# Parts. The application's role may add to a ledger but not change it; the owner's role is for `migrate` alone.
_POSTGRES = ("postgresql", "postgres")
DATABASE_URL = env_url("DATABASE_URL", schemes=_POSTGRES, required=True)
DATABASE_OWNER_URL = env_url("DATABASE_OWNER_URL", DATABASE_URL, schemes=_POSTGRES)
LEASE_SECONDS = env_seconds("LEASE_SECONDS", 15, low=1, high=3600)
#: A lease long, as for any other silence of a worker; with room for a slow machine where leases are very short.
_IDLE = max(LEASE_SECONDS, timedelta(seconds=3))
DATABASES = {
    "default": database(
        DATABASE_URL, pool=env_int("DATABASE_POOL", 0, low=0, high=100), persistent=True, idle=_IDLE
    ),
    "owner": database(DATABASE_OWNER_URL, pool=0, persistent=False),
}
CELERY_BROKER_URL = env_url(
    "CELERY_BROKER_URL", schemes=("redis", "rediss", "redis+socket", "valkey", "amqp", "amqps"), required=True
)

# The engine.
INTERLOCK_SEAL_KEY = env_key("INTERLOCK_SEAL_KEY")
INTERLOCK_HASH_KEY = env_key("INTERLOCK_HASH_KEY")
INTERLOCK_GATEKEEPER = env_str("INTERLOCK_GATEKEEPER", "approvals.gatekeeper.Gatekeeper")
INTERLOCK_AGENTS = env_list("INTERLOCK_AGENTS", ("durable.agents.refund_desk",))
SWEEP_SECONDS = env_seconds("SWEEP_SECONDS", 2, low=0.1, high=300)
GATE_DECIDE_SECONDS = env_seconds("GATE_DECIDE_SECONDS", 3 * 86400, low=1, high=366 * 86400)
#: Whole units of whatever currency: above this, what became of an effect in doubt is for two people to say.
VERDICT_ALONE_LIMIT = env_int("VERDICT_ALONE_LIMIT", 250, low=0, high=10**12)
#: Runs: an erasure of more takes two people who may erase. 0: every erasure does.
ERASE_ALONE_LIMIT = env_int("ERASE_ALONE_LIMIT", 0, low=0, high=10**9)
GATE_ACT_SECONDS = env_seconds("GATE_ACT_SECONDS", 86400, low=1, high=366 * 86400)
#: Files that people have asked for: where they are kept, outside of whatever a web server gives out, and for how long.
INTERLOCK_EXPORTS = env_str("INTERLOCK_EXPORTS", str(INTERLOCK_DATA / "exports"))
EXPORT_KEEP_SECONDS = env_seconds("EXPORT_KEEP_SECONDS", 86400, low=60, high=30 * 86400)
METRICS_TOKEN = env_secret("INTERLOCK_METRICS_TOKEN")

# Roots over the ledger. Only a process that makes them needs the key that signs them.
INTERLOCK_SIGN_KEY = env_key("INTERLOCK_SIGN_KEY", required=False)
INTERLOCK_PUBLIC_KEYS = env_list("INTERLOCK_PUBLIC_KEYS")
ROOT_SECONDS = env_seconds("ROOT_SECONDS", 60, low=1, high=86400)
INTERLOCK_ANCHORS = env_list("INTERLOCK_ANCHORS", ("durable.roots.anchors.File",))
INTERLOCK_ANCHOR_FILE = env_str("INTERLOCK_ANCHOR_FILE", str(INTERLOCK_DATA / "roots.jsonl"))
INTERLOCK_ERASURE_FILE = env_str("INTERLOCK_ERASURE_FILE", str(INTERLOCK_DATA / "erasures.jsonl"))
INTERLOCK_ANCHOR_MAIL = env_list("INTERLOCK_ANCHOR_MAIL")
INTERLOCK_ANCHOR_MAIL_SECONDS = env_seconds("INTERLOCK_ANCHOR_MAIL_SECONDS", 86400, low=0, high=366 * 86400)
INTERLOCK_ANCHOR_URL = env_url("INTERLOCK_ANCHOR_URL", schemes=("http", "https"))
INTERLOCK_ANCHOR_TOKEN = env_secret("INTERLOCK_ANCHOR_TOKEN")
#: What is kept beside the ledger is held against it by these, each given the connection that verifies.
INTERLOCK_EVIDENCE = ["approvals.evidence.decisions"]
#: Finds the runs that a legal hold by search is about: given its text, and the moment from which its days count.
INTERLOCK_SEARCH = "approvals.holding.runs"
#: What is kept beside effects goes with them by these, each given the numbers of the effects, in the one transaction.
INTERLOCK_LET_GO = ["approvals.holding.let_go"]
#: What is kept beside the runs of somebody who is erased is forgotten by these, each given the erasure, in its commit.
INTERLOCK_FORGET = ["approvals.erasure_beside.forget"]

#: How long after the end of a UTC day the vendors' accounts of it are held against the ledger.
STATEMENT_AFTER_SECONDS = env_seconds("STATEMENT_AFTER_SECONDS", 7200, low=3600, high=43200)

# Vendors. Without a base address the payment vendor is the real one.
STRIPE_API_KEY = env_secret("STRIPE_API_KEY")
STRIPE_API_BASE = env_url("STRIPE_API_BASE", schemes=("http", "https")).rstrip("/")
SHOP_API_BASE = env_url("SHOP_API_BASE", schemes=("http", "https")).rstrip("/")

# Mail: to a server where one is named, else into files of the data folder.
EMAIL_HOST = env_str("EMAIL_HOST")
EMAIL_PORT = env_int("EMAIL_PORT", 587, low=1, high=65535)
EMAIL_HOST_USER = env_str("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env_secret("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", True)
EMAIL_TIMEOUT = 10
EMAIL_FILE_PATH = str(INTERLOCK_DATA / "mail")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'filebased'}.EmailBackend"
DEFAULT_FROM_EMAIL = env_str("DEFAULT_FROM_EMAIL", "interlock@localhost")

# Django.
#: Bytes of one form. A page may offer a state and an input of `durable.text.MAX_BYTES` each, and text takes up to three
#: times its room in the body of a form: a letter that is not ASCII becomes %C3%A4.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000
INSTALLED_APPS = [
    "durable",
    "approvals",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "template_partials",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "durable.middleware.DatabaseAway",
    "approvals.polls.SpareUnchanged",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "approvals.idle.EndSignIns",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "approvals.naming.NameActor",
    "durable.middleware.NoStore",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "durable.urls"
WSGI_APPLICATION = "durable.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "approvals.context.navigation",
            ],
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en-gb"
#: How moments are written for whoever has chosen no zone; they are stored and compared in UTC.
TIME_ZONE = env_zone("INTERLOCK_TIME_ZONE", "UTC")
USE_TZ = True

# Static files carry a hash in their names, so `collectstatic` must have run; tests take them as they lie.
_HASHED = env_bool("STATIC_HASHED", True)
STATIC_URL = "/static/"
STATIC_ROOT = env_str("STATIC_ROOT", str(INTERLOCK_DATA / "static"))
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"
        if _HASHED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = not _HASHED

# Doors.
_HTTPS = PUBLIC_URL.startswith("https:")
CSRF_FAILURE_VIEW = "approvals.views.refusals.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 365 * 86400 if _HTTPS else 0
_BEHIND_PROXY = env_bool("BEHIND_PROXY", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _BEHIND_PROXY else None
#: So many proxies before us add to X-Forwarded-For (`approvals.address`).
PROXY_HOPS = env_int("PROXY_HOPS", int(_BEHIND_PROXY), low=0, high=10)
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_IDLE_SECONDS = env_seconds("SESSION_IDLE_SECONDS", 3600, low=60, high=12 * 3600)
# A browser takes a cookie of such a name from this very host alone, and over HTTPS alone.
_HOST = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_HOST}sessionid", f"{_HOST}csrftoken"
KNOWN_COOKIE_NAME = f"{_HOST}known"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"
_VALIDATORS = ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"} for name in _VALIDATORS
]

# One line an event, to stdout, never a payload: arguments and answers stay in the database.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "stdout": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout", "formatter": "line"}
    },
    "root": {
        "handlers": ["stdout"],
        "level": env_str("LOG_LEVEL", "INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")),
    },
    "loggers": {
        "django": {"level": "INFO", "handlers": [], "propagate": True},
        # Its client tells each request, and at DEBUG the whole payload.
        "stripe": {"level": "WARNING"},
    },
}
