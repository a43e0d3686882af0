# The image of one node. `docker build -t carillon .` builds the console and the binary as
# `make release` does; what runs has neither compiler nor shell scripts of ours.
#
#   docker run -p 8080:8080 -v carillon:/data carillon serve --init-admin
#
# Several nodes need PostgreSQL: set CARILLON_DATABASE__URL (docs/operations.md).

FROM rust:1.95-bookworm AS build
WORKDIR /src
# What builds the console is built from source too, for some minutes: a layer of its own, which
# stays until the lock file changes. What builds the documentation is downloaded.
COPY Cargo.toml Cargo.lock ./
COPY scripts scripts
RUN scripts/rust && scripts/console-tools && scripts/python-tools mdbook
COPY . .
# CI: the lock file as it is, or an error.
RUN CI=true make release && install -D target/release/carillon /out/carillon

FROM debian:bookworm-slim
# Certificates for targets that are reached by TLS; zone data that is newer than the binary's own
# counts, so rebuild now and then. Debian's programs that would let their caller become somebody
# else (su, mount, passwd ...) let nobody do so.
RUN apt-get update \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		ca-certificates tzdata \
	&& rm -rf /var/lib/apt/lists/* \
	&& find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
	&& useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin carillon \
	&& install -d -o carillon -g carillon -m 700 /data
COPY --from=build /out/carillon /usr/bin/carillon
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
ENV CARILLON_LISTEN=0.0.0.0:8080 \
	CARILLON_DATABASE__URL=sqlite:/data/carillon.db \
	CARILLON_LOG__FORMAT=json
# Runs have 30 s to end after a request to stop (shutdown_grace): `docker stop -t 45`.
STOPSIGNAL SIGTERM
# Asks /healthz: unhealthy also means that schedules are missed or stalled, not only that the
# process is gone.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["carillon", "healthcheck"]
ENTRYPOINT ["carillon"]
CMD ["serve"]
