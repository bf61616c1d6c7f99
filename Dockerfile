# docker build -t agent-messaging .
# openssl rand -base64 32 > master-key  # Once. Keep the file.
# openssl rand -hex 20 > api-key        # Once. Keep the file.
# docker run --init -p 3000:3000 -v messages:/data -e SERVICE_MASTER_KEY="$(cat master-key)" \
#   -e SERVICE_BOOTSTRAP_API_KEY="$(cat api-key)" agent-messaging

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --include=dev
RUN node_modules/.bin/tsc -b packages/server && node packages/server/make-bundle.mjs
RUN npm prune --omit=dev
RUN npm sbom --omit=dev --package-lock-only --workspace=packages/server --sbom-format=cyclonedx > sbom.cdx.json
RUN rm -rf packages/*/src packages/*/build packages/*/tsconfig*.json examples benchmarks faults

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 SERVICE_DATABASE_URL=file:/data/agent-messaging.db
WORKDIR /app
COPY --from=build /app .
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without npm, which does not forward signals. On SIGTERM, the server stops within
# SERVICE_SHUTDOWN_GRACE_MS.
CMD ["node", "packages/server/bin/agent-messaging.js", "start"]
