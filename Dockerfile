# Two images from one file: `sluice` (the default target: worker, adapter, tools) and `sluice-observer` (with git).
# Both run as user 10001 on a root file system that may be read-only; state goes to /var/lib/sluice alone.
#
#   docker build --tag sluice .
#   docker build --target observer --tag sluice-observer .

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS base

FROM base AS debian
# Debian's packages as they were when the base image was made: its sources name that snapshot beside the moving archive.
# So the digest above fixes them as well; they get their security fixes when it is raised.
RUN sed -i -E '/^# https?:.*snapshot/{N;s/^# ([^\n]+)\nURIs: [^\n]+$/URIs: \1/}' /etc/apt/sources.list.d/debian.sources \
    && test "$(grep -c '^URIs:' /etc/apt/sources.list.d/debian.sources)" = "$(grep -c '^URIs: .*snapshot' /etc/apt/sources.list.d/debian.sources)" \
    && printf 'Acquire::Check-Valid-Until "false";\nAcquire::Retries "5";\n' > /etc/apt/apt.conf.d/snapshot

FROM debian AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# For the compiled core, which is optional: without a compiler the image would fold in Python alone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/sluice
# The libraries first: they change less often than the sources, and each is held to its hash.
COPY requirements/run.txt requirements/run.txt
RUN /opt/sluice/bin/pip install --require-hashes --only-binary :all: --requirement requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY native native
COPY policies policies
COPY examples examples
COPY codecs codecs
COPY record record
COPY streams streams
COPY topology topology
# Optional to an install, but not to this image: it is loaded once, so that a failed build is seen here.
RUN /opt/sluice/bin/pip install --no-deps --no-build-isolation . \
    && /opt/sluice/bin/python -I -c 'from sluice.streams.adjudication.fold_layout import core; core.VERSION' \
    && /opt/sluice/bin/pip uninstall --yes setuptools pip
# Each image lists what is in it, and carries the list.
COPY tools/image_sbom.py tools/image_sbom.py
RUN install -D --mode=0644 tools/image_sbom.py /opt/sluice/share/sbom/image_sbom.py \
    && install -D --mode=0644 requirements/run.txt /opt/sluice/share/sbom/run.txt

FROM base AS runtime
# The writable folder has to be there, and the user's: a new volume takes its owner from it.
RUN groupadd --system --gid 10001 sluice \
    && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/sluice --shell /usr/sbin/nologin sluice \
    && install --directory --owner=10001 --group=10001 --mode=0750 /var/lib/sluice \
    && install --directory /etc/sluice
COPY --from=build /opt/sluice /opt/sluice
RUN /opt/sluice/bin/python -I /opt/sluice/share/sbom/image_sbom.py --lock /opt/sluice/share/sbom/run.txt --out /usr/share/sluice/sbom.cdx.json
ENV PATH=/opt/sluice/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SLUICE_STATE_DIR=/var/lib/sluice/state
# Where `sluice.toml` is looked for: mounted by whoever prefers a file to variables.
WORKDIR /etc/sluice
USER 10001:10001
# Asks the worker's web server; a command without one has nothing to be asked, and ends when it fails.
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; p = os.environ.get('SLUICE_WEB_PORT'); p and u.urlopen(f'http://127.0.0.1:{p}/healthz', timeout=3)"]
ENTRYPOINT ["sluice"]
CMD ["--help"]

FROM runtime AS observer
USER 0:0
# Of the same snapshot as above: no version is named, and only one is there.
COPY --from=debian /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/debian.sources
COPY --from=debian /etc/apt/apt.conf.d/snapshot /etc/apt/apt.conf.d/snapshot
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && /opt/sluice/bin/python -I /opt/sluice/share/sbom/image_sbom.py --lock /opt/sluice/share/sbom/run.txt --out /usr/share/sluice/sbom.cdx.json
USER 10001:10001

FROM runtime AS sluice
