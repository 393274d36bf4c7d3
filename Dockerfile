# The production image: web, workers, sweeper and beat are the same image with other commands (see compose.yaml).
FROM python:3.12-slim AS build
WORKDIR /app
COPY requirements.txt .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.txt

FROM python:3.12-slim
RUN useradd --system --create-home --home-dir /data interlock && install --directory --owner interlock /roots
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 INTERLOCK_DATA=/data STATIC_ROOT=/app/static-built
WORKDIR /app
COPY --from=build /venv /venv
COPY . .
# Compiled once, here: each process would do it anew at its start, and stay some megabytes larger for it.
RUN python -m compileall -q . && python manage.py collectstatic --noinput --verbosity 0
USER interlock
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
CMD ["granian", "--interface", "wsgi", "--blocking-threads", "16", "--host", "0.0.0.0", "--port", "8000", "--workers-kill-timeout", "3", "durable.wsgi:application"]
