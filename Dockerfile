# The image of svc: one program, whose command is its role.
#   docker build --tag svc .
#   docker build --tag svc:new --build-arg PREVIOUS_IMAGE=svc:old .
# The second one takes the engines of the image before along: an unfinished run continues with the engine that it began with.
ARG NODE_IMAGE=node:20.20.2-bookworm-slim
ARG PREVIOUS_IMAGE=nothing-before

# In the place of the image before, for the first one.
FROM ${NODE_IMAGE} AS nothing-before
RUN mkdir -p /srv/svc/dist/engines

FROM ${PREVIOUS_IMAGE} AS previous

FROM ${NODE_IMAGE} AS build
WORKDIR /srv/svc
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
# Before the build, which keeps the newest two of them.
COPY --from=previous /srv/svc/dist/engines dist/engines
RUN node scripts/build.mjs

# The program has no packages: it is dist/, and package.json says that its scripts are modules. Everything belongs to root; the
# user of svc writes to /var/lib/svc and /tmp only, which are volumes where the root file system is read-only.
FROM ${NODE_IMAGE}
WORKDIR /srv/svc
COPY --from=build /srv/svc/package.json ./
COPY --from=build /srv/svc/dist dist
RUN chmod 755 dist/svc.js && mkdir bin && ln -s ../dist/svc.js bin/svc && install -d -m 700 -o 10001 -g 10001 /var/lib/svc
ENV PATH=/srv/svc/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SVC_DATA_DIR=/var/lib/svc \
    SVC_HOST=0.0.0.0
USER 10001:10001
VOLUME /var/lib/svc
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["svc"]
CMD ["start", "--role", "all"]
