# The service in a container: `docker build -t stratusd .`, then see docs/operating.md.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /stratus
COPY . .
RUN cargo build --release --locked --package stratusd

FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/stratus stratus
COPY --from=build /stratus/target/release/stratusd /usr/local/bin/stratusd
USER stratus
WORKDIR /var/lib/stratus
VOLUME /var/lib/stratus
# A file and not variables, because variables would take precedence over a file that is mounted in its place.
COPY crates/stratusd/deploy/container.toml /etc/stratus/stratus.toml
ENV STRATUS_CONFIG=/etc/stratus/stratus.toml
EXPOSE 8080 9090
ENTRYPOINT ["stratusd"]
CMD ["serve"]
