FROM node:24-bookworm-slim AS build
WORKDIR /headgate
COPY . .
RUN npm ci --ignore-scripts && npm run build

FROM node:24-bookworm-slim AS dependencies
WORKDIR /headgate
COPY package.json package-lock.json ./
COPY packages/core/package.json packages/core/
COPY packages/server/package.json packages/server/
COPY packages/simulator/package.json packages/simulator/
COPY packages/cli/package.json packages/cli/
RUN npm ci --ignore-scripts --omit=dev --workspace packages/cli

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HEADGATE_HTTP=0.0.0.0:8080 \
    HEADGATE_GRPC=0.0.0.0:8081 \
    HEADGATE_DATA=/data
WORKDIR /headgate
COPY --from=dependencies /headgate ./
COPY --from=build /headgate/packages/core/dist packages/core/dist
COPY --from=build /headgate/packages/server/dist packages/server/dist
COPY --from=build /headgate/packages/server/proto packages/server/proto
COPY --from=build /headgate/packages/simulator/dist packages/simulator/dist
COPY --from=build /headgate/packages/cli/dist packages/cli/dist
COPY packages/cli/bin packages/cli/bin
RUN install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "packages/cli/bin/headgate.js"]
CMD ["serve"]
