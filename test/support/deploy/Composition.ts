/**
 * `docker compose up` without an engine: the services of `compose.yaml` as processes of this machine, in the order that the file
 * says, on a Postgres and a NATS server of the tests. What an engine gives each container is imitated: a name that leads to an
 * address of its own, at which the ports are those of the file.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { Client, escapeLiteral } from "pg"
import { shardCount } from "../cluster.js"
import { eventually } from "../eventually.js"
import { announce } from "../LogExpectations.js"
import { startNats } from "../natsServer.js"
import { operatorsPostgres } from "../operatorsPostgres.js"
import { makeDataDirectory } from "../Service.js"
import { type ComposeFile, readCompose, serviceOf } from "./Compose.js"
import { root } from "./Dockerfile.js"
import { type Container, makeImage } from "./Image.js"

/** Passes connections at an address on to a port of 127.0.0.1. */
const forward = (host: string, port: number, to: number) =>
  new Promise<net.Server>((resolve, reject) => {
    const server = net.createServer((socket) => {
      const other = net.connect(to, "127.0.0.1")
      for (const [one, peer] of [
        [socket, other],
        [other, socket]
      ] as const) {
        one.on("error", () => peer.destroy())
        one.on("close", () => peer.destroy())
        one.pipe(peer)
      }
    })
    server.once("error", reject)
    server.listen(port, host, () => resolve(server))
  })

/**
 * Sets the administrator's password, and runs the file that the image of Postgres runs as it creates its data: of psql's words it
 * uses `\getenv` and `:'name'`.
 */
const setUp = async (administrator: string, env: Readonly<Record<string, string>>) => {
  const text = fs.readFileSync(path.join(root, "deploy/compose/logins.sql"), "utf8")
  const values = new Map([...text.matchAll(/^\\getenv (\w+) (\w+)$/gm)].map(([, name, from = ""]) => [name, env[from]]))
  const sql = text
    .replaceAll(/^\\.*$/gm, "")
    .replaceAll(/:'(\w+)'/g, (_, name: string) => `'${values.get(name) ?? assert.fail(`${name} has no value`)}'`)
  const client = new Client({ connectionString: administrator })
  await client.connect()
  await client.query(`ALTER ROLE postgres PASSWORD ${escapeLiteral(env["POSTGRES_PASSWORD"] ?? "")}`)
  await client.query(sql)
  await client.end()
}

/** `subnet`: a number of 127.x that no other test uses. `env`: the variables of `.env`. */
export const startComposition = async (subnet: number, env: Readonly<Record<string, string>>) => {
  const scope = Effect.runSync(Scope.make())
  const place = makeDataDirectory()
  fs.chmodSync(place.directory, 0o755)
  const postgres = operatorsPostgres()
  const servers: Array<net.Server> = []
  const containers = new Map<string, Container>()
  await postgres.start(scope)
  const administrator = new URL(postgres.administrator())
  const file: ComposeFile = readCompose(env)
  const hosts = Object.fromEntries(
    Object.keys(file.services).map((name, at) => [name, `127.${subnet}.0.${at + 2}`])
  ) as Readonly<Record<string, string>>
  const addressOf = (name: string) => hosts[name] ?? assert.fail(`there is no service ${name}`)
  const image = makeImage(place.directory)

  servers.push(await forward(addressOf("postgres"), 5_432, Number(administrator.port)))
  await setUp(administrator.href, serviceOf(file, "postgres").environment ?? {})
  // The words of the file but for the folder of the store.
  const [program, ...words] = serviceOf(file, "nats").command ?? []
  const store = words.indexOf("--store_dir")
  assert.strictEqual(program, "nats-server")
  await Effect.runPromise(
    Scope.extend(
      startNats({
        jetStream: false,
        listen: { host: addressOf("nats"), port: 4_222 },
        words: [...words.slice(0, store), "--store_dir", path.join(place.directory, "nats"), ...words.slice(store + 2)]
      }),
      scope
    )
  )

  const volumes = new Map<string, string>()
  const volumeOf = (name: string): string => {
    const made = volumes.get(name) ?? image.makeVolume(name)
    volumes.set(name, made)
    return made
  }

  /** The variables of a service, but for the addresses that it listens on: a container has interfaces of its own. */
  const environmentOf = (name: string) => {
    const { environment = {} } = serviceOf(file, name)
    const listens = environment["SVC_NODE_LISTEN"] === undefined ? {} : { SVC_NODE_LISTEN: addressOf(name) }
    return { ...environment, SVC_HOST: addressOf(name), ...listens }
  }

  /** Runs a command in a container of a service; by default that of the file. */
  const run = (name: string, command = serviceOf(file, name).command ?? [], entrypoint?: ReadonlyArray<string>) =>
    image.start({
      command,
      env: environmentOf(name),
      volume: volumeOf(name),
      hosts,
      ...(entrypoint === undefined ? {} : { entrypoint })
    })

  /** Runs a command to its end, which must be a good one, and returns its output. */
  const exec = async (name: string, command: ReadonlyArray<string>, entrypoint?: ReadonlyArray<string>) => {
    const container = run(name, command, entrypoint)
    assert.strictEqual(await container.ended, 0, container.output())
    return container.output()
  }

  const urlOf = (name: string) => `http://${addressOf(name)}:8080`
  const isReady = async (name: string) => (await fetch(`${urlOf(name)}/readyz`).catch(() => undefined))?.status === 200
  const shardsOf = async (name: string) =>
    Number(/^svc_shards_held (\d+)$/m.exec(await (await fetch(`${urlOf(name)}/metrics`)).text())?.[1])
  const nodes = Object.entries(file.services).flatMap(([name, { command }]) => (command?.[0] === "start" ? [name] : []))
  const runners = nodes.filter((name) => serviceOf(file, name).command?.[2] === "runner")

  /** Awaits that all nodes run and are ready, and that the runners hold all shards: a last one gets its part as it joins. */
  const ready = async (): Promise<ReadonlyArray<string>> => {
    for (const name of nodes) {
      const { ended, output } = containers.get(name) ?? assert.fail(`${name} was not started`)
      await eventually(
        async () => {
          const code = await Promise.race([ended, Promise.resolve("running")])
          assert.strictEqual(code, "running", output())
          return await isReady(name)
        },
        (is) => is
      )
    }
    await eventually(
      () => Promise.all(runners.map(shardsOf)),
      (held) => held.every((n) => n > 0) && held.reduce((sum, n) => sum + n, 0) === shardCount
    )
    return nodes
  }

  return {
    file,
    image,
    exec,
    urlOf,
    addressOf,
    ready,
    /** Starts the services that are svc's, each after those that it waits for. */
    up: async () => {
      await exec("migrate", serviceOf(file, "migrate").command ?? [])
      for (const name of nodes) containers.set(name, run(name))
      return ready()
    },
    /** Replaces one node: stops it, starts it again, and awaits that it takes part. */
    restart: async (name: string) => {
      const former = containers.get(name)
      former?.kill("SIGTERM")
      assert.strictEqual(await former?.ended, 0, former?.output())
      containers.set(name, run(name))
      return ready()
    },
    /** Stops the nodes as `docker compose stop` does. */
    stop: async () => {
      announce(/"cluster\.(?:node_gone|seat_lost)"/)
      for (const { kill } of containers.values()) kill("SIGTERM")
      const codes = await Promise.all([...containers].map(async ([name, { ended }]) => [name, await ended] as const))
      containers.clear()
      return codes
    },
    end: async () => {
      for (const { kill } of containers.values()) kill("SIGKILL")
      await Promise.all([...containers.values()].map(({ ended }) => ended))
      for (const server of servers) server.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      postgres.remove()
      place.remove()
    }
  }
}

/** What `docker compose up` has started. */
export type Composition = Awaited<ReturnType<typeof startComposition>>
